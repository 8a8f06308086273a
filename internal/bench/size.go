package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
	"github.com/stepwell-dev/stepwell/pkg/message"
)

// contentPerTurn is a message and its answer, half each.
const contentPerTurn = 9 << 10

// sizeTable measures the bytes of the file after many turns, streamed deltas included, against the bytes that were said.
func sizeTable(ctx context.Context, dir string, _, _, turns int) error {
	fmt.Printf("| Stored for %d turns of %d KB | content | file | of the content | after trim and collect |\n| --- | --- | --- | --- | --- |\n", turns, contentPerTurn>>10)
	for i, kind := range []struct {
		name string
		text func(*rand.Rand, int) string
	}{{"text like prose", prose}, {"text that does not compress", noise}} {
		file := path(dir, fmt.Sprint("size-", i))
		st, s, err := open(ctx, file)
		if err != nil {
			return err
		}
		random := rand.New(rand.NewPCG(1, 2))
		turn := talk{func() string { return kind.text(random, contentPerTurn/2) }}
		opts := kernel.StepOptions{Head: head, Landing: landing(), Turn: turn}
		for range turns {
			if err := submit(ctx, s, kind.text(random, contentPerTurn/2)); err != nil {
				return err
			}
			if _, err := s.Drive(ctx, opts); err != nil {
				return err
			}
		}
		if err := st.Close(); err != nil {
			return err
		}
		whole, err := size(file)
		if err != nil {
			return err
		}
		if st, s, err = open(ctx, file); err != nil {
			return err
		}
		last, err := s.LastSeq(ctx)
		if err != nil {
			return err
		}
		if _, err := s.Trim(ctx, last); err != nil {
			return err
		}
		if _, err := s.Collect(ctx, 0); err != nil {
			return err
		}
		stats, err := st.Stats(ctx)
		if err != nil {
			return err
		}
		if err := st.Close(); err != nil {
			return err
		}
		content := int64(turns * contentPerTurn)
		fmt.Printf("| %s | %.2f MB | %.2f MB | %.2fx | %.2fx |\n", kind.name, mb(content), mb(whole), float64(whole)/float64(content), float64(stats.FileBytes-stats.FreeBytes)/float64(content))
	}
	return nil
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func size(path string) (int64, error) {
	var n int64
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path + suffix)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, nil
}

// talk streams its answer word by word.
type talk struct{ text func() string }

func (t talk) Respond(ctx context.Context, in kernel.TurnInput) (kernel.RespondOutcome, error) {
	text := t.text()
	for rest := text; rest != ""; {
		n := min(24, len(rest))
		if err := in.Emit(ctx, store.DeltaEvent{RunID: in.Run.ID, Attempt: in.Attempt, Part: store.TextPart, Delta: rest[:n]}); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return kernel.Complete{Message: message.Assistant{
		Content: []message.Part{message.Text{Text: text}},
		API:     "none", Provider: "none", Model: "none", StopReason: message.StopEnd, Timestamp: in.Now,
	}}, nil
}

func (talk) Tools(context.Context, kernel.ToolsInput) (kernel.ToolsOutcome, error) {
	return nil, fmt.Errorf("no tools")
}

// prose makes text of a few thousand words with natural frequencies.
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		w := uint64(r.ExpFloat64() * 300)
		word := rand.New(rand.NewPCG(w, 7))
		for range 1 + word.IntN(9) {
			b.WriteByte("etaoinshrdlucmfwypvbgkjqxz"[int(word.Float64()*word.Float64()*26)])
		}
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

func noise(r *rand.Rand, n int) string {
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	return base64.StdEncoding.EncodeToString(raw)[:n]
}
