package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stepwell-dev/stepwell/internal/boot"
)

// patience bounds what a script waits for. It is only reached by a script that fails.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stepwell": main})
}

// TestScripts plays the scripts with the real binary, on real stores and servers.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv(boot.EnvStore, filepath.Join(env.WorkDir, "s.db"))
			env.Setenv(boot.EnvAddr, "127.0.0.1:0")
			env.Setenv(boot.EnvPace, "0s")
			env.Setenv("USER", "ann")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "served": served, "until": until, "grab": grab, "isjson": isJSON, "count": count, "shout": shout,
		},
		RequireExplicitExec: true,
	})
}

// exits code command... runs a command that must end with the code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits code command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%v: exit code %d, want %s", args[1:], code, args[0])
	}
}

// served waits for a server of the store, another than $URL, and sets $URL and $ADDR.
func served(ts *testscript.TestScript, _ bool, _ []string) {
	before := ts.Getenv("URL")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	poll(ts, "a server", func() bool {
		n, ok, err := findServer(ctx, ts.Getenv(boot.EnvStore))
		ts.Check(err)
		ts.Setenv("URL", n.URL)
		ts.Setenv("ADDR", strings.TrimPrefix(n.URL, "http://"))
		return ok && n.URL != before
	})
}

// until regexp command... repeats a command until its output matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: until regexp command...")
	}
	re := regexp.MustCompile(args[0])
	poll(ts, args[0], func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && re.MatchString(ts.ReadFile("stdout"))
	})
}

func poll(ts *testscript.TestScript, what string, done func() bool) {
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			ts.Fatalf("there is still not %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// grab name regexp sets an environment variable to the first group found in the output.
func grab(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: grab name regexp")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) < 2 {
		ts.Fatalf("the output has no %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// isjson file checks that every line of a file is a JSON document.
func isJSON(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: isjson file")
	}
	text := strings.TrimSpace(ts.ReadFile(args[0]))
	if text == "" {
		ts.Fatalf("%s is empty", args[0])
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !jsontext.Value(line).IsValid() {
			ts.Fatalf("%s has a line that is not JSON: %s", args[0], line)
		}
	}
}

// count n regexp file checks how often a file matches.
func count(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: count n regexp file")
	}
	n := len(regexp.MustCompile(args[1]).FindAllString(ts.ReadFile(args[2]), -1))
	if strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s matches %s %d times, want %s", args[2], args[1], n, args[0])
	}
}

// shout file n writes a file of n letters.
func shout(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: shout file n")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte("a"), n), 0o600))
}

// Every command has help with examples, so that nobody has to guess.
func TestEveryCommandHasExamplesAndExitCodes(t *testing.T) {
	t.Parallel()
	a := &app{out: new(bytes.Buffer), err: new(bytes.Buffer), env: func(string) string { return "" }}
	for _, c := range a.root().Commands() {
		if !c.Runnable() {
			continue
		}
		if c.Short == "" || !strings.Contains(c.Long, "Exit codes") {
			t.Errorf("%s: the help lacks a summary or the exit codes", c.Name())
		}
		if n := strings.Count(c.Example, "stepwell "); n < 3 && c.Name() != "version" {
			t.Errorf("%s: %d examples, want 3", c.Name(), n)
		}
		lines := strings.Count(fmt.Sprint(c.Long, c.Example, c.Flags().FlagUsages()), "\n")
		if lines > 48 {
			t.Errorf("%s: the help has %d lines, more than a screen", c.Name(), lines)
		}
	}
}
