// Command stepwell runs conversations with language models that survive the death of the process, and looks after them:
// it serves them over HTTP, talks in them, watches them and repairs them.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
)

// version is set by the build.
var version = "devel"

func main() { os.Exit(run()) }

// called returns what to type to run this program again: `go run` builds it somewhere and throws it away.
func called(arg0 string) string {
	if strings.Contains(filepath.ToSlash(arg0), "/go-build") {
		return "go run ./cmd/stepwell"
	}
	return "stepwell"
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // the second signal ends the process at once
	}()
	terminal := func(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		name: called(os.Args[0]), env: os.Getenv, now: time.Now, pid: os.Getpid(),
		typed: terminal(os.Stdin), shown: terminal(os.Stdout), errShown: terminal(os.Stderr),
	}
	return a.execute(ctx, os.Args[1:])
}
