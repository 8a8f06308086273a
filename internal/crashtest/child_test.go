package crashtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/stepwell-dev/stepwell/pkg/kernel/store/storetest"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

// The test binary, started again with this variable, is a process that plays its part and may be killed in it.
const childEnv = "STEPWELL_CRASHTEST_CHILD"

func TestMain(m *testing.M) {
	if order := os.Getenv(childEnv); order != "" {
		if err := obey(context.Background(), order); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// An order says what a child does and when it dies.
type order struct {
	Dir   string `json:"dir"`
	Full  bool   `json:"full"`
	Scene string `json:"scene"` // serves, or the name of a scene
	doom
}

// serves is the order to run every session until the input ends.
const serves = "serves"

// A doom names the store call at which a process is killed: by number, or the one that is called so. The zero value is none.
type doom struct {
	N    int              `json:"n"`
	Call string           `json:"call"`
	At   storetest.Moment `json:"at"`
}

func (d doom) String() string {
	if d.Call != "" {
		return fmt.Sprintf("%s %s", d.At, d.Call)
	}
	return fmt.Sprintf("%s call %d", d.At, d.N)
}

func obey(ctx context.Context, text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	p, err := openProcess(ctx, o.Dir, o.Full)
	if err != nil {
		return err
	}
	names := o.impose(p.calls)
	if o.Scene == serves {
		if err := p.Attach(ctx, sdk.AttachOptions{}); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
	} else {
		all := scenes()
		i := slices.IndexFunc(all, func(s scene) bool { return s.name == o.Scene })
		if err := all[i].act(ctx, p); err != nil {
			return err
		}
	}
	if err := p.Close(); err != nil {
		return err
	}
	names.mu.Lock()
	defer names.mu.Unlock()
	for _, name := range names.writes {
		fmt.Println("wrote", name)
	}
	fmt.Println("calls", p.calls.Count())
	return nil
}

// A naming gives every call a name that is the same in every process that does the same, whatever else happens in between: what it does and
// how often it has been done.
type naming struct {
	mu     sync.Mutex
	counts map[string]int
	names  map[int]string
	writes []string
}

// impose lets the process kill itself as d says. Nothing of it runs on after that: the call that is killed returns to nobody.
func (d doom) impose(f *storetest.Faulty) *naming {
	n := &naming{counts: map[string]int{}, names: map[int]string{}}
	at := func(moment storetest.Moment) {
		f.Hook(moment, func(c storetest.Call) {
			name := n.name(c)
			if moment != d.At || c.N != d.N && name != d.Call {
				return
			}
			fmt.Println("killed", c.N, name)
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				panic(err)
			}
			select {}
		})
	}
	at(storetest.Before)
	at(storetest.After)
	return n
}

func (n *naming) name(c storetest.Call) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, ok := n.names[c.N]; ok {
		return name
	}
	name := string(c.Op)
	if c.Reason != "" {
		name += " " + c.Reason
	}
	n.counts[name]++
	name = fmt.Sprintf("%s#%d", name, n.counts[name])
	n.names[c.N] = name
	if c.Op.Writes() {
		n.writes = append(n.writes, name)
	}
	return name
}

// A child is another process.
type child struct {
	cmd *exec.Cmd
	in  io.Closer
	out io.Reader
}

func start(ctx context.Context, o order) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{cmd: cmd, in: in, out: out}, cmd.Start()
}

// A fate is how a child ended.
type fate struct {
	killed string   // the call that it was killed at; "" when it outlived its order
	n      int      // the number of that call, or of all its calls
	writes []string // of a process that was not killed, in order
}

var errEnded = errors.New("it ended neither well nor by its own kill")

// wait returns how the child ended. It is killed at a store call, or ends well; all else is an error.
func (c *child) wait() (fate, error) {
	var f fate
	var said []string
	for lines := bufio.NewScanner(c.out); lines.Scan(); {
		said = append(said, lines.Text())
		word, rest, _ := strings.Cut(lines.Text(), " ")
		number, name, _ := strings.Cut(rest, " ")
		switch word {
		case "wrote":
			f.writes = append(f.writes, rest)
		case "killed", "calls":
			n, err := strconv.Atoi(number)
			if err != nil {
				return f, err
			}
			f.n, f.killed = n, name
		}
	}
	err := c.cmd.Wait()
	switch {
	case f.killed != "" && c.cmd.ProcessState.String() == "signal: killed":
		return f, nil
	case f.killed == "" && f.n > 0 && err == nil:
		return f, nil
	}
	return f, fmt.Errorf("the other process (%v) said %q: %w", c.cmd.ProcessState, said, errors.Join(errEnded, err))
}
