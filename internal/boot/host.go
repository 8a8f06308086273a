package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/cloud/standard"
	"github.com/stepwell-dev/stepwell/internal/boot/turn"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// A Host is a store and the service over it.
type Host struct {
	api.Service
	sdk   *sdk.Stepwell
	store store.Store
	file  *sqlitestore.Store // nil when the store is not a file
	where string
	model string
}

// Exists reports whether there is a store's file at path, which opening would otherwise make.
func Exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ErrConfiguration reports a value that is well formed and cannot work. Nothing was opened or made.
var ErrConfiguration = errors.New("configuration")

// CheckModels returns provider/id of the model that would answer by default, or why there is none. It contacts nobody.
func CheckModels(c Config, now func() time.Time) (string, error) {
	_, model, err := c.Catalog(now)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrConfiguration, err)
	}
	return model.Provider + "/" + model.ID, nil
}

// Open opens the store, making its file when there is none, and composes the service. In the cloud a missing table or bucket is
// [cloud.ErrMissing]. Now is the clock, logger hears of what has
// no caller. The caller closes the host.
func Open(ctx context.Context, c Config, now func() time.Time, logger *slog.Logger) (*Host, error) {
	catalog, model, err := c.Catalog(now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfiguration, err)
	}
	notes := &notebook{path: notesOf(c), now: now}
	set, err := c.Offered(notes.write)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfiguration, err)
	}
	h := &Host{model: model.Provider + "/" + model.ID}
	if err := h.open(ctx, c, now, logger); err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	opts := sdk.Options{
		Store: h.store, Models: catalog, DefaultModel: model, Tools: set, System: turn.System, LeaseTTL: c.LeaseTTL, Now: now, Logger: logger,
	}
	if c.Cloud != nil {
		opts.Flush, opts.Poll = cloud.Flush, cloud.Poll
	}
	h.sdk, err = sdk.New(opts)
	if err != nil {
		return nil, errors.Join(err, h.store.Close())
	}
	h.Service = h.sdk
	return h, nil
}

// open opens the store, in the cloud only one that is there.
func (h *Host) open(ctx context.Context, c Config, now func() time.Time, logger *slog.Logger) error {
	if c.Cloud == nil {
		file, err := sqlitestore.Open(ctx, c.Store, &sqlitestore.Options{Now: now, Synchronous: c.Sync, Logger: logger})
		if err != nil {
			return err
		}
		h.store, h.file, h.where = file, file, file.Path()
		return nil
	}
	clients, err := standard.Connect(ctx, "")
	if err != nil {
		return err
	}
	if err := clients.Check(ctx, *c.Cloud); err != nil {
		return err
	}
	st, err := clients.Open(*c.Cloud, now, cloud.Poll)
	if err != nil {
		return err
	}
	h.store, h.where = st, c.Cloud.String()
	return nil
}

// Attach makes the host a runner of the sessions, or of all. It returns at once; running ends with ctx or with Close.
func (h *Host) Attach(ctx context.Context, sessions ...api.SessionID) error {
	return h.sdk.Attach(ctx, sdk.AttachOptions{Sessions: sessions})
}

// Close gives every head back and closes the store. Runs go on when a host attaches again.
func (h *Host) Close() error { return errors.Join(h.sdk.Close(), h.store.Close()) }

// Model returns provider/id of the model that answers by default.
func (h *Host) Model() string { return h.model }

// StorePath returns the absolute path of the store's file, or where in the cloud the store is.
func (h *Host) StorePath() string { return h.where }

// Stats counts what a store's file holds; ok is false when the store is not a file.
func (h *Host) Stats(ctx context.Context) (stats sqlitestore.Stats, ok bool, err error) {
	if h.file == nil {
		return sqlitestore.Stats{}, false, nil
	}
	stats, err = h.file.Stats(ctx)
	return stats, true, err
}

// IntegrityCheck has SQLite check the whole file; ok is false when the store is not a file.
func (h *Host) IntegrityCheck(ctx context.Context) (ok bool, err error) {
	if h.file == nil {
		return false, nil
	}
	return true, h.file.IntegrityCheck(ctx)
}
