package main

import (
	"io"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"

	"github.com/stepwell-dev/stepwell/internal/boot"
)

// newLogger logs lines for people on a terminal, and JSON elsewhere.
func newLogger(w io.Writer, c boot.Config, terminal bool) *slog.Logger {
	if c.LogFormat == "json" || c.LogFormat == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.LogLevel}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{Level: c.LogLevel, TimeFormat: time.TimeOnly, NoColor: !terminal}))
}
