package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
)

// A Host is a store and the service over it.
type Host struct {
	api.Service
	sdk   *sdk.Stepwell
	store *sqlitestore.Store
	model string
}

// Exists reports whether there is a store at path, which opening would otherwise make.
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
	_, model, err := models(c, now)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrConfiguration, err)
	}
	return model.Provider + "/" + model.ID, nil
}

// Open opens the store, making it when there is none, and composes the service. Now is the clock, logger hears of what has
// no caller. The caller closes the host.
func Open(ctx context.Context, c Config, now func() time.Time, logger *slog.Logger) (*Host, error) {
	catalog, model, err := models(c, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfiguration, err)
	}
	set, err := tools(c, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfiguration, err)
	}
	store, err := sqlitestore.Open(ctx, c.Store, &sqlitestore.Options{Now: now, Synchronous: c.Sync, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	s, err := sdk.New(sdk.Options{
		Store: store, Models: catalog, DefaultModel: model, Tools: set, System: system, Now: now, Logger: logger,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &Host{Service: s, sdk: s, store: store, model: model.Provider + "/" + model.ID}, nil
}

func system(object.Config) string {
	return "You are a helpful assistant. Several people may write in this conversation. Use the tools when they help."
}

// Attach makes the host a runner of the sessions, or of all. It returns at once; running ends with ctx or with Close.
func (h *Host) Attach(ctx context.Context, sessions ...api.SessionID) error {
	return h.sdk.Attach(ctx, sdk.AttachOptions{Sessions: sessions})
}

// Close gives every head back and closes the store. Runs go on when a host attaches again.
func (h *Host) Close() error { return errors.Join(h.sdk.Close(), h.store.Close()) }

// Model returns provider/id of the model that answers by default.
func (h *Host) Model() string { return h.model }

// StorePath returns the absolute path of the store's file.
func (h *Host) StorePath() string { return h.store.Path() }

// Stats counts what the store holds.
func (h *Host) Stats(ctx context.Context) (sqlitestore.Stats, error) { return h.store.Stats(ctx) }

// IntegrityCheck has SQLite check the whole file.
func (h *Host) IntegrityCheck(ctx context.Context) error { return h.store.IntegrityCheck(ctx) }
