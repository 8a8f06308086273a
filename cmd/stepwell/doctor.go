package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/pkg/api"
)

// A verdict is how a check went.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictWarn verdict = "warn"
	verdictFail verdict = "fail"
)

type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Detail  string  `json:"detail"`
}

type diagnosis struct {
	Version  string         `json:"version"`
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	Settings []boot.Setting `json:"settings"`
	Findings []finding      `json:"findings"`
}

func (d *diagnosis) add(check string, v verdict, format string, args ...any) {
	d.Findings = append(d.Findings, finding{check, v, fmt.Sprintf(format, args...)})
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look whether everything is in order",
		Long: `Doctor shows the configuration and where each value comes from, and checks the store and every session in it, the
address, the server and the model's configuration. It contacts no provider and shows no secret and no conversation.

It exits with 0 when all is well, 1 when there are warnings and 2 when something is broken.`,
		Example: `  stepwell doctor
  stepwell doctor --json
  stepwell doctor --store /var/lib/stepwell/stepwell.db`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			d := diagnosis{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			a.diagnose(ctx, &d)
			if err := a.writeDiagnosis(d); err != nil {
				return err
			}
			code := exitOK
			for _, f := range d.Findings {
				switch f.Verdict {
				case verdictFail:
					code = 2
				case verdictWarn:
					code = max(code, 1)
				case verdictOK:
				}
			}
			if code != exitOK {
				return &codeError{code: code}
			}
			return nil
		}),
	}
}

func (a *app) diagnose(ctx context.Context, d *diagnosis) {
	flags := map[string]string{boot.EnvStore: a.store, boot.EnvToken: a.token}
	c, err := boot.Load(flags, a.env)
	d.Settings = c.Settings
	if err != nil {
		d.add("configuration", verdictFail, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	d.add("configuration", verdictOK, "every value is well formed")
	switch model, err := boot.CheckModels(c, a.now); {
	case err != nil:
		d.add("model", verdictFail, "%v", err)
	case strings.HasPrefix(model, "scripted/"):
		d.add("model", verdictOK, "%s, a demonstration that needs no key; set %s and %s for another", model, boot.EnvModel, boot.EnvOpenAIKey)
	default:
		d.add("model", verdictOK, "%s", model)
	}
	a.diagnoseServer(ctx, d, c)
	if c.Cloud != nil {
		a.diagnoseStore(ctx, d, c)
		return
	}
	exists, err := boot.Exists(c.Store)
	switch {
	case err != nil:
		d.add("store", verdictFail, "%v", err)
	case !exists:
		d.add("store", verdictWarn, "there is none at %s yet; serve, chat and send make it", c.Store)
	default:
		a.diagnoseStore(ctx, d, c)
	}
}

// diagnoseServer looks for the announced server, and whether another could listen.
func (a *app) diagnoseServer(ctx context.Context, d *diagnosis, c boot.Config) {
	if err := c.CheckExposed(); err != nil {
		d.add("address", verdictFail, "%v", err)
	}
	var n announcement
	var ok bool
	var err error
	if c.Cloud == nil {
		n, ok, err = findServer(ctx, c.Store)
	}
	switch {
	case c.Cloud != nil:
		d.add("server", verdictOK, "servers of a store in the cloud are not announced; ask one with `curl URL/healthz`")
	case err != nil:
		d.add("server", verdictWarn, "%v", err)
	case ok:
		d.add("server", verdictOK, "process %d serves this store at %s", n.PID, n.URL)
		return
	case n.URL != "":
		d.add("server", verdictWarn, "process %d announced itself at %s and does not answer; it was killed, or hangs. Start `stepwell serve`: runs are carried on", n.PID, n.URL)
	default:
		d.add("server", verdictOK, "none runs this store")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		d.add("address", verdictWarn, "cannot listen on %s: %v; use --addr", c.Addr, errors.Unwrap(err))
		return
	}
	if err := l.Close(); err != nil {
		d.add("address", verdictWarn, "%v", err)
		return
	}
	d.add("address", verdictOK, "%s is free", c.Addr)
}

// diagnoseStore opens the store beside a server that may run, and checks all of it.
func (a *app) diagnoseStore(ctx context.Context, d *diagnosis, c boot.Config) {
	host, err := boot.Open(ctx, c, a.now, a.logger(c))
	if err != nil {
		d.add("store", verdictFail, "%v", err)
		return
	}
	defer func() {
		if err := host.Close(); err != nil {
			d.add("store", verdictFail, "closing it: %v", err)
		}
	}()
	switch stats, ok, err := host.Stats(ctx); {
	case err != nil:
		d.add("store", verdictFail, "%v", err)
	case !ok:
		d.add("store", verdictOK, "%s: the table has the right keys and the bucket answers", host.StorePath())
	default:
		d.add("store", verdictOK, "%s: %d sessions, %d objects, %d refs, %d events; %d kB, log %d kB, free %d kB", host.StorePath(),
			stats.Sessions, stats.Objects, stats.Refs, stats.Events, stats.FileBytes>>10, stats.LogBytes>>10, stats.FreeBytes>>10)
	}
	switch ok, err := host.IntegrityCheck(ctx); {
	case err != nil:
		d.add("integrity", verdictFail, "%v", err)
	case ok:
		d.add("integrity", verdictOK, "SQLite finds the file whole")
	}
	a.diagnoseSessions(ctx, d, &target{Service: host, host: host})
}

func (a *app) diagnoseSessions(ctx context.Context, d *diagnosis, t *target) {
	ids, err := a.sessionIDs(ctx, t, true)
	if err != nil {
		d.add("sessions", verdictFail, "%v", err)
		return
	}
	broken := 0
	for _, id := range ids {
		report, err := check(ctx, t, id)
		switch {
		case errors.Is(err, api.ErrSessionNotFound): // deleted since it was listed
		case err != nil:
			broken++
			d.add("sessions", verdictFail, "%s: %v", id, err)
		case report.Moving:
			broken++
			d.add("sessions", verdictWarn, "%s: it was written to during every check; check again when it is idle", id)
		case len(report.Problems) > 0:
			broken++
			d.add("sessions", verdictFail, "%s: %d problems, the first: %s; see `stepwell fsck -s %s`", id, len(report.Problems),
				problemText(report.Problems[0]), id)
		}
	}
	if broken == 0 {
		d.add("sessions", verdictOK, "%d checked, every invariant holds", len(ids))
	}
}

func (a *app) writeDiagnosis(d diagnosis) error {
	if a.json {
		return emit(a.out, d)
	}
	if _, err := fmt.Fprintf(a.out, "stepwell %s, %s, %s\n\n", d.Version, d.Go, d.Platform); err != nil {
		return err
	}
	rows := [][]string{}
	for _, s := range d.Settings {
		rows = append(rows, []string{"  " + s.Name, firstOf(oneLine(s.Value, 80), "-"), "(" + string(s.Origin) + ")"})
	}
	if err := table(a.out, rows); err != nil {
		return err
	}
	rows = [][]string{}
	for _, f := range d.Findings {
		rows = append(rows, []string{string(f.Verdict), f.Check, oneLine(f.Detail, 600)})
	}
	if _, err := fmt.Fprintln(a.out); err != nil {
		return err
	}
	return table(a.out, rows)
}
