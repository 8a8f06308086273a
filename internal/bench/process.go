package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell-dev/stepwell/pkg/kernel"
	"github.com/stepwell-dev/stepwell/pkg/kernel/ref"
	"github.com/stepwell-dev/stepwell/pkg/kernel/store"
)

// processTable measures what happens between processes: how soon an idle watcher in one sees a submit of another, and how soon a killed
// process's run goes on in the next.
func processTable(ctx context.Context, dir string, n, _, _ int) error {
	wakes, err := measureWakes(ctx, dir, min(n, 200))
	if err != nil {
		return fmt.Errorf("wake: %w", err)
	}
	restarts, err := measureRestarts(ctx, dir, 20)
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	fmt.Print("| Between processes | median | p99 |\n| --- | --- | --- |\n")
	fmt.Printf("| an idle watcher sees the commit of another process after | %s | %s |\n", ms(wakes.median()), ms(wakes.at(0.99)))
	fmt.Printf("| a run whose process was killed takes its next durable step after (process start included) | %s | %s |\n", ms(restarts.median()), ms(restarts.at(0.99)))
	return nil
}

// start runs this program as a child. Its output is read line by line.
func start(ctx context.Context, dir, child string) (*exec.Cmd, *bufio.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", child, "-dir", dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return cmd, bufio.NewReader(out), cmd.Start()
}

func measureWakes(ctx context.Context, dir string, n int) (sample, error) {
	st, s, err := open(ctx, path(dir, "process"))
	if err != nil {
		return nil, err
	}
	cmd, out, err := start(ctx, dir, "watch")
	if err != nil {
		return nil, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := out.ReadString('\n'); err != nil { // ready
		return nil, err
	}
	var got sample
	for i := range n {
		time.Sleep(5 * time.Millisecond) // let it fall idle
		if err := submit(ctx, s, fmt.Sprint("message ", i)); err != nil {
			return nil, err
		}
		done := time.Now()
		line, err := out.ReadString('\n')
		if err != nil {
			return nil, err
		}
		seen, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return nil, err
		}
		got = append(got, max(time.Unix(0, seen).Sub(done), 0))
	}
	return got, st.Close()
}

// childWatch prints the time at which it sees each event.
func childWatch(ctx context.Context, dir string) error {
	_, s, err := open(ctx, path(dir, "process"))
	if err != nil {
		return err
	}
	last, err := s.LastSeq(ctx)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for _, err := range s.WatchEvents(ctx, last) {
		if err != nil {
			return err
		}
		fmt.Println(time.Now().UnixNano())
	}
	return nil
}

func measureRestarts(ctx context.Context, dir string, n int) (sample, error) {
	st, s, err := open(ctx, path(dir, "process"))
	if err != nil {
		return nil, err
	}
	if err := submit(ctx, s, "go"); err != nil {
		return nil, err
	}
	var got sample
	for range n {
		before, err := s.LastSeq(ctx)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		cmd, out, err := start(ctx, dir, "step")
		if err != nil {
			return nil, err
		}
		for e, err := range s.WatchEvents(ctx, before) {
			if err != nil {
				return nil, err
			}
			if r, ok := e.Body.(store.RefEvent); ok && r.Name == ref.Run(head) {
				got = append(got, e.At.Time().Sub(began.Truncate(time.Millisecond)))
				break
			}
		}
		_ = cmd.Process.Kill() // in the middle of its steps, its lease held
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
	return got, st.Close()
}

// childStep drives the head for ever.
func childStep(ctx context.Context, dir string) error {
	_, s, err := open(ctx, path(dir, "process"))
	if err != nil {
		return err
	}
	outcome, err := s.Drive(ctx, kernel.StepOptions{Head: head, Landing: landing(), Turn: loop{}})
	return errors.Join(err, fmt.Errorf("drive ended with %T", outcome))
}
