package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
)

const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

func (a *app) serveCommand() *cobra.Command {
	var addr, model, allow, level, format, sync string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the sessions of a store and serve them over HTTP",
		Long: `Serve opens the store, carries on every run that an earlier process left, and serves the sessions over HTTP. Other
commands on this machine find it by the store's file. Without a key it answers with a scripted demonstration model; say "help" to it.

  STEPWELL_MODEL=openai/<model>  with OPENAI_API_KEY, OPENAI_BASE_URL or both: any OpenAI-compatible server
  STEPWELL_TOKEN                 what requests must carry; required on an address that other machines reach
  STEPWELL_PACE                  pause between the words of the scripted model, 25ms by default

SIGINT and SIGTERM stop it; runs under way are given back and go on at the next start. Nothing is trimmed or collected by
itself: see gc.`,
		Example: `  stepwell serve
  stepwell serve --addr 127.0.0.1:0 --store try.db
  OPENAI_API_KEY=... stepwell serve --model openai/gpt-4.1-mini`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			if a.server != "" {
				return usage("--server names a server to talk to; this command is one: use --addr to say where it listens")
			}
			config, err := a.config(map[string]string{
				boot.EnvAddr: addr, boot.EnvModel: model, boot.EnvFetchAllow: allow, boot.EnvLogLevel: level, boot.EnvLogFormat: format,
				boot.EnvSync: sync,
			})
			if err != nil {
				return err
			}
			if err := config.CheckExposed(); err != nil {
				return &usageError{err}
			}
			return a.serve(ctx, config)
		}),
	}
	f := c.Flags()
	f.StringVar(&addr, "addr", "", "where to listen, port 0 for any free one (env "+boot.EnvAddr+"; default "+boot.DefaultAddr+")")
	f.StringVar(&model, "model", "", "provider/model, several with commas, the default one first (env "+boot.EnvModel+"; default scripted/demo)")
	f.StringVar(&allow, "fetch-allow", "", "hosts that the tool fetch may ask, with commas (env "+boot.EnvFetchAllow+"; default none)")
	f.StringVar(&sync, "sync", "", "full or normal: what a commit survives (env "+boot.EnvSync+"; default full)")
	f.StringVar(&level, "log-level", "", "debug, info, warn or error (env "+boot.EnvLogLevel+"; default warn)")
	f.StringVar(&format, "log-format", "", "auto, text or json (env "+boot.EnvLogFormat+"; default auto)")
	return c
}

// serve runs until ctx ends.
func (a *app) serve(ctx context.Context, c boot.Config) (err error) {
	log := a.logger(c)
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return &codeError{
			code: exitConflict, text: fmt.Sprintf("cannot listen on %s: %v", c.Addr, errors.Unwrap(err)),
			hint: "is another server running? Choose another address with --addr, or --addr 127.0.0.1:0 for any free port",
		}
	}
	host, err := boot.Open(ctx, c, a.now, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	if err := host.Attach(context.WithoutCancel(ctx)); err != nil {
		return errors.Join(err, listener.Close())
	}
	here := announcement{URL: "http://" + reachable(listener.Addr().String()), PID: a.pid, Instance: uuid.NewString()}
	handler := httpapi.New(host, &httpapi.Options{Token: c.Token, Hosts: names(c), Logger: log, Version: version, Now: a.now})
	server := &http.Server{
		Handler:           here.mark(handler),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if c.Cloud == nil {
		if err := here.write(host.StorePath()); err != nil {
			return errors.Join(err, server.Close())
		}
		defer func() { err = errors.Join(err, here.withdraw(host.StorePath())) }()
	}
	if err := a.ready(ctx, c, here, host); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	if !a.json {
		_, _ = fmt.Fprintln(a.out, "Stopping: runs under way are given back and go on at the next start.")
	}
	handler.Close()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil {
		return server.Close() // what is left are requests that do not end by themselves
	}
	return nil
}

// mark names this process in every answer.
func (n announcement) mark(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(instanceHeader, n.Instance)
		next.ServeHTTP(w, r)
	})
}

// reachable returns an address that this machine can ask: a server on all addresses is also on the loopback one.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// names returns the names that a loopback server answers to, so that no web page reaches it under another.
func names(c boot.Config) []string {
	if host, _, err := net.SplitHostPort(c.Addr); err == nil && boot.Loopback(host) {
		return []string{"127.0.0.1", "localhost", "::1"}
	}
	return nil
}

type readyLine struct {
	Kind  string `json:"kind"` // "ready"
	URL   string `json:"url"`
	Store string `json:"store"`
	Model string `json:"model"`
	PID   int    `json:"pid"`
}

func (a *app) ready(ctx context.Context, c boot.Config, here announcement, host *boot.Host) error {
	if a.json {
		return emit(a.out, readyLine{Kind: "ready", URL: here.URL, Store: host.StorePath(), Model: host.Model(), PID: here.PID})
	}
	landing, err := host.Landing(ctx)
	if err != nil {
		return err
	}
	lanes := make([]string, len(landing.Lanes))
	for i, l := range landing.Lanes {
		lanes[i] = l.Lane + " (lands at a " + l.Lands + ")"
		if l.Lands == "idle" {
			lanes[i] = l.Lane + " (lands when idle)"
		}
	}
	model := host.Model()
	if strings.HasPrefix(model, "scripted/") {
		model += ", a scripted demonstration and not an AI; say help to it"
	}
	token := "none needed"
	if c.Token != "" {
		token = "required"
	}
	where, server := ", in this directory", ""
	if c.Cloud != nil {
		where, server = "", " --server "+here.URL
	}
	st := a.style()
	_, err = fmt.Fprintf(a.out, `%[1]s at %[2]s
  store   %[3]s
  model   %[4]s
  lanes   %[5]s
  token   %[6]s

Talk to it from other terminals%[9]s:
  %[7]s chat%[10]s
  %[7]s send --wait "hello"%[10]s
  curl -s %[8]s/v1/sessions
Ctrl-C stops it. A kill does too: nothing is lost either way.
`, st.bold("Stepwell is ready"), st.bold(here.URL), host.StorePath(), model,
		strings.Join(lanes, ", ")+", drained "+landing.Drain+" at a time", token, a.name, here.URL, where, server)
	return err
}
