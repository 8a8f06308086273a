package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
	"github.com/stepwell-dev/stepwell/pkg/sqlitestore"
	"github.com/stepwell-dev/stepwell/pkg/tool"
	"github.com/stepwell-dev/stepwell/pkg/tool/builtin"
)

// tooLong is how long leases live here: no test waits for one to expire. A successor goes on because the dead are recognised.
const tooLong = 24 * time.Hour

// A process is a host over the file of dir, as a process has it: one handle, composed like the command composes it.
type process struct {
	dir   string
	full  bool
	file  *sqlitestore.Store
	calls *storetest.Faulty // between host and file
	*sdk.Stepwell
	log *errorLog
}

// openProcess opens the store of dir. With full every commit is on the disk before it counts.
func openProcess(ctx context.Context, dir string, full bool) (*process, error) {
	p := &process{dir: dir, full: full, log: &errorLog{}}
	var err error
	if p.file, err = openFile(ctx, dir, full); err != nil {
		return nil, err
	}
	p.calls = storetest.NewFaulty(p.file)
	tools, err := tool.NewSet(payTool(dir), lookTool(dir), builtin.Ask())
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	p.Stepwell, err = sdk.New(sdk.Options{
		Store: p.calls, Models: llm.NewCatalog(model{}), DefaultModel: model{}.Models()[0].Model, Tools: tools, LeaseTTL: tooLong,
		Logger: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	return p, nil
}

func openFile(ctx context.Context, dir string, full bool) (*sqlitestore.Store, error) {
	level := sqlitestore.Normal
	if full {
		level = sqlitestore.Full
	}
	return sqlitestore.Open(ctx, filepath.Join(dir, "crash.db"), &sqlitestore.Options{Synchronous: level})
}

// Close gives the head back and closes the file. What the host had to log is an error.
func (p *process) Close() error {
	return errors.Join(p.Stepwell.Close(), p.file.Close(), p.log.err())
}

// An errorLog keeps what a host logs as an error.
type errorLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *errorLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *errorLog) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() == 0 {
		return nil
	}
	return fmt.Errorf("the host logged: %s", l.text.String())
}

type toolInput struct {
	N int `json:"n"`
}

// payTool must never run twice; lookTool may.
func payTool(dir string) tool.Tool  { return loggedTool(dir, "pay", "paid", tool.ReplayNever) }
func lookTool(dir string) tool.Tool { return loggedTool(dir, "look", "looked", tool.ReplaySafe) }

// loggedTool returns a tool whose every execution is a line on the disk, outside of the store.
func loggedTool(dir, name, result string, replay tool.Replay) tool.Tool {
	t, err := tool.Typed(name, "A tool of the crash tests.", replay, func(_ context.Context, call tool.Call, in toolInput) (tool.Outcome, error) {
		if err := logRun(dir, fmt.Sprintf("%s %d %s\n", name, in.N, call.ID)); err != nil {
			return nil, err
		}
		return tool.Text(result), nil
	})
	if err != nil {
		panic(err)
	}
	return t
}

const runsName = "runs.log"

func logRun(dir, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, runsName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Sync(), f.Close())
}

// runsOf returns how often each tool ran for each user message: by "pay 1" and the like.
func runsOf(dir string) (map[string]int, error) {
	data, err := os.ReadFile(filepath.Join(dir, runsName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	runs := make(map[string]int)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("the log of tool runs has the line %q", line)
		}
		runs[fields[0]+" "+fields[1]]++
	}
	return runs, nil
}
