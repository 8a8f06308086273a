package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/client"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitAuth        = 5
	exitUnavailable = 6
	exitInterrupted = 130
)

const codesHelp = `Exit codes: 0 ok, 1 failed, 2 usage or invalid input, 3 not found, 4 conflict, busy or another outcome than success,
5 not authorized, 6 unavailable or out of time, 130 interrupted.`

func withCodes(c *cobra.Command) string {
	if c.Run == nil && c.RunE == nil {
		if c.HasSubCommands() {
			return firstOf(c.Long, c.Short) + "\n\n" + codesHelp
		}
		return c.Long // a topic
	}
	return firstOf(c.Long, c.Short+".") + "\n\n" + codesHelp
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// A usageError is a mistake in what was typed or configured.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// A codeError ends the command with a code. Without a text everything has been said.
type codeError struct {
	code int
	text string
	hint string
}

func (e *codeError) Error() string { return e.text }

// report says what went wrong and what to do next, and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	code, text, hint := a.explain(ctx, err)
	if text == "" {
		return code
	}
	if a.json {
		_ = emit(a.err, problem{Error: text, Hint: hint, Code: code})
		return code
	}
	_, _ = fmt.Fprintf(a.err, "stepwell: %s\n", text)
	if hint != "" {
		_, _ = fmt.Fprintf(a.err, "  %s\n", strings.ReplaceAll(hint, "\n", "\n  "))
	}
	return code
}

type problem struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitzero"`
	Code  int    `json:"code"`
}

func (a *app) explain(ctx context.Context, err error) (code int, text, hint string) {
	var coded *codeError
	var bad *usageError
	var remote *client.Error
	text = err.Error()
	switch {
	case errors.As(err, &coded):
		return coded.code, coded.text, coded.hint
	case errors.As(err, &bad), errors.Is(err, boot.ErrConfiguration):
		return exitUsage, text, ""
	case errors.Is(err, cloud.ErrAccess):
		return exitAuth, text, ""
	case errors.Is(err, cloud.ErrMissing):
		return exitNotFound, text, ""
	case !a.started:
		return exitUsage, text, "`stepwell help` lists the commands; --help after one explains it"
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return exitInterrupted, "interrupted", ""
	case errors.Is(err, api.ErrSessionNotFound):
		return exitNotFound, fmt.Sprintf("there is no session %q", a.sessionID()),
			"`stepwell sessions` lists them; `stepwell send` and `stepwell chat` make the default one, or a new one with --new"
	case errors.Is(err, api.ErrHeadNotFound):
		return exitNotFound, text, "`stepwell heads` lists them"
	case errors.Is(err, api.ErrObjectNotFound):
		return exitNotFound, text, "`stepwell log --commits` and `stepwell refs` show what there is"
	case errors.Is(err, api.ErrRunNotFound):
		return exitNotFound, text, ""
	case errors.Is(err, api.ErrUnauthorized), errors.Is(err, api.ErrForbidden):
		return exitAuth, text, "set STEPWELL_TOKEN to the server's token, or give --token"
	case errors.Is(err, api.ErrInvalid):
		return exitUsage, text, ""
	case errors.Is(err, api.ErrKeyReused), errors.Is(err, api.ErrPreconditionFailed):
		return exitConflict, text, ""
	case errors.Is(err, api.ErrCursorExpired):
		return exitConflict, text, "watch without --after to start with what is new"
	case errors.Is(err, api.ErrDeadline), errors.Is(err, context.DeadlineExceeded):
		return exitUnavailable, "out of time: there is no outcome yet", "nothing is lost: the run goes on; `stepwell watch` shows it"
	case errors.As(err, &remote) && remote.Temporary(), errors.Is(err, api.ErrUnavailable), errors.Is(err, api.ErrClosed), unreachable(err):
		return exitUnavailable, text, "is the server running? `stepwell doctor` looks"
	}
	return exitFailed, text, ""
}

func unreachable(err error) bool {
	var op *net.OpError
	var address *url.Error
	return errors.As(err, &op) || errors.As(err, &address)
}

// outcome prints a domain outcome and returns the error that gives the exit code: none when it is a success.
func (a *app) outcome(value any, code int, format string, args ...any) error {
	if a.json {
		if err := emit(a.out, value); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(a.out, format+"\n", args...); err != nil {
		return err
	}
	if code == exitOK {
		return nil
	}
	return &codeError{code: code}
}
