package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
)

// TestKilledAgainAndAgain kills every successor of a killed process as well, at calls drawn from a seed, before one is left alone.
func TestKilledAgainAndAgain(t *testing.T) {
	const deaths = 10
	loops := 24
	if testing.Short() {
		loops = 4
	}
	var mu sync.Mutex
	kills, seed := 0, 0
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for {
				mu.Lock()
				mine := seed
				seed++
				mu.Unlock()
				if mine >= loops || t.Failed() {
					return
				}
				s := scenes()[mine%3] // those that begin with nothing
				n, err := crashLoop(t, s, uint64(mine), deaths)
				if err != nil {
					t.Errorf("scene %s, seed %d: %v", s.name, mine, err)
				}
				mu.Lock()
				kills += n
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	if !t.Failed() && kills < 4*loops {
		t.Errorf("%d kills in %d loops, want at least %d", kills, loops, 4*loops)
	}
	t.Logf("kills: %d", kills)
}

// crashLoop plays a scene with at most so many processes that are killed and one that is not, and returns how many were.
func crashLoop(t *testing.T, s scene, seed uint64, deaths int) (kills int, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	draw := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	var history []string
	for range deaths {
		d := doom{N: 10 + draw.IntN(35), At: storetest.Before + storetest.Moment(draw.IntN(2))}
		c, err := start(ctx, order{Dir: dir, Scene: s.name, doom: d})
		if err != nil {
			return kills, err
		}
		f, err := c.wait()
		if err != nil {
			return kills, fmt.Errorf("after %q: %w", history, err)
		}
		if f.killed == "" {
			break
		}
		kills++
		history = append(history, fmt.Sprintf("%s #%d %s", d.At, f.n, f.killed))
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := play(ctx, dir, false, s.act); err != nil {
		return kills, fmt.Errorf("after %q: the successor: %w", history, err)
	}
	if s.after != nil {
		if err := play(ctx, dir, false, s.after); err != nil {
			return kills, fmt.Errorf("after %q: afterwards: %w", history, err)
		}
	}
	r, err := examine(ctx, dir)
	if err != nil {
		return kills, err
	}
	r.judge(s)
	if len(r.problems) > 0 {
		return kills, fmt.Errorf("after %q: %s", history, strings.Join(r.problems, "; "))
	}
	return kills, nil
}
