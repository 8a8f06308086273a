// Command bench measures the embedded store and the kernel on it, and prints the tables of docs/performance.md. Every figure is a median
// of one run and is also given as a multiple of the floor: one hand-written transaction of four rows with the same settings, measured in
// turn with the thing itself, so that both see the same machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

func main() {
	n := flag.Int("n", 400, "samples of each figure")
	big := flag.Int("commits", 10_000, "the longest history")
	turns := flag.Int("turns", 500, "turns of the storage measurement")
	child := flag.String("child", "", "run as a child process: watch or step")
	dir := flag.String("dir", "", "directory of the measured files; a temporary one by default")
	flag.Parse()
	if err := run(context.Background(), *child, *dir, *n, *big, *turns); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, child, dir string, n, big, turns int) error {
	switch child {
	case "watch":
		return childWatch(ctx, dir)
	case "step":
		return childStep(ctx, dir)
	}
	if dir == "" {
		tmp, err := os.MkdirTemp("", "stepwell-bench-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(tmp) }()
		dir = tmp
	}
	fmt.Printf("%s %s/%s, %d CPUs, %s, synchronous=FULL unless said\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly))
	for _, part := range []func(context.Context, string, int, int, int) error{storeTable, stepTable, submitTable, historyTable, processTable, sizeTable} {
		sub, err := os.MkdirTemp(dir, "part-")
		if err != nil {
			return err
		}
		if err := part(ctx, sub, n, big, turns); err != nil {
			return err
		}
		fmt.Println()
	}
	return nil
}

func path(dir, name string) string { return filepath.Join(dir, name+".db") }

// A sample is a list of durations.
type sample []time.Duration

func (s sample) at(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	s = slices.Clone(s)
	slices.Sort(s)
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

func (s sample) median() time.Duration { return s.at(0.5) }

func ms(d time.Duration) string { return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond)) }

func times(d, floor time.Duration) string { return fmt.Sprintf("%.2fx", float64(d)/float64(floor)) }

// timed measures one call.
func timed(s *sample, call func() error) error {
	start := time.Now()
	err := call()
	*s = append(*s, time.Since(start))
	return err
}

// row prints a line of a table.
func row(name string, s sample, floor time.Duration) {
	fmt.Printf("| %s | %s | %s | %s |\n", name, ms(s.median()), ms(s.at(0.99)), times(s.median(), floor))
}
