package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
)

// defaultSession is the session of a command that names none. Sending and chatting make it when it is not there.
const defaultSession = "default"

// A target is the service that a command works on: a server, or the store's own file.
type target struct {
	api.Service
	url   string     // of the server
	host  *boot.Host // nil with a server
	store string     // path, or where in the cloud; empty when a server was named
	cloud bool       // the store is not a file
}

func (t *target) close() error {
	if t.host == nil {
		return nil
	}
	return t.host.Close()
}

// direct reports whether the store is open in this process.
func (t *target) direct() bool { return t.host != nil }

// alone reports whether nobody else runs the store. What runs a store in the cloud is not known.
func (t *target) alone() bool { return t.direct() && !t.cloud }

// Whether opening a store may make it.
const (
	mustExist = false
	mayMake   = true
)

// connect finds what the command works on: the server that is named, the server announced for the store's file, or the store.
// Servers of a store in the cloud may be anywhere and are not announced.
func (a *app) connect(ctx context.Context, make bool) (*target, error) {
	c, err := a.config(nil)
	if err != nil {
		return nil, err
	}
	named := a.server
	if named == "" && a.store == "" {
		named = a.env(envServer)
	}
	if named != "" {
		if a.store != "" {
			return nil, usage("--server and --store exclude each other: a server has its own store")
		}
		return a.remote(named, c)
	}
	if c.Cloud != nil {
		return a.direct(ctx, c)
	}
	n, ok, err := findServer(ctx, c.Store)
	if err != nil {
		return nil, err
	}
	if ok {
		t, err := a.remote(n.URL, c)
		if err != nil {
			return nil, err
		}
		t.store = c.Store
		return t, nil
	}
	exists, err := boot.Exists(c.Store)
	if err != nil {
		return nil, err
	}
	if !exists && !make {
		return nil, &codeError{
			code: exitNotFound, text: "there is no store at " + c.Store,
			hint: "`stepwell serve` and `stepwell send` make one; --store names another; --server names a server",
		}
	}
	return a.direct(ctx, c)
}

// direct opens the store in this process.
func (a *app) direct(ctx context.Context, c boot.Config) (*target, error) {
	host, err := boot.Open(ctx, c, a.now, a.logger(c))
	if err != nil {
		return nil, err
	}
	return &target{Service: host, host: host, store: host.StorePath(), cloud: c.Cloud != nil}, nil
}

func (a *app) remote(url string, c boot.Config) (*target, error) {
	s, err := client.New(url, &client.Options{Token: c.Token})
	if err != nil {
		return nil, &usageError{err}
	}
	return &target{Service: s, url: url}, nil
}

// with runs f on the target and closes it.
func (a *app) with(ctx context.Context, make bool, f func(*target) error) (err error) {
	t, err := a.connect(ctx, make)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return f(t)
}

// on is a [body] that needs an existing store.
func (a *app) on(f func(ctx context.Context, t *target, args []string) error) body {
	return func(ctx context.Context, args []string) error {
		return a.with(ctx, mustExist, func(t *target) error { return f(ctx, t, args) })
	}
}

// ensureSession makes the session when it is the default one or a new one is asked for, and returns its id.
func (a *app) ensureSession(ctx context.Context, t *target, fresh bool, name string) (api.SessionID, error) {
	opts := api.CreateSessionOptions{SessionID: a.sessionID(), Name: name, Actor: a.actor()}
	if fresh {
		opts.SessionID = api.SessionID(a.session) // empty: the service chooses
	} else if opts.SessionID != defaultSession {
		_, err := t.GetSession(ctx, api.SessionOptions{SessionID: opts.SessionID})
		return opts.SessionID, err
	}
	out, err := t.CreateSession(ctx, opts)
	if err != nil {
		return "", err
	}
	switch o := out.(type) {
	case api.SessionCreated:
		return o.Session.SessionID, nil
	case api.SessionExists:
		if fresh {
			return "", &codeError{code: exitConflict, text: "the session " + a.session + " exists already", hint: "leave out --new to use it"}
		}
		return o.Session.SessionID, nil
	}
	return "", errors.New("unreachable")
}

// logger returns where to log what has no caller.
func (a *app) logger(c boot.Config) *slog.Logger { return newLogger(a.err, c, a.errShown) }
