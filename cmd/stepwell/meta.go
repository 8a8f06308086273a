package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/internal/boot"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  stepwell version\n  stepwell version --json",
		Args:    cobra.NoArgs,
		RunE: a.do(func(context.Context, []string) error {
			return a.outcome(struct {
				Version string `json:"version"`
				Go      string `json:"go"`
			}{version, runtime.Version()}, exitOK, "stepwell %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		}),
	}
}

type sceneLine struct {
	Scene int    `json:"scene"`
	Step  string `json:"step"`
}

func (a *app) scenesCommand() *cobra.Command {
	var memory bool
	c := &cobra.Command{
		Use:   "scenes [number...]",
		Short: "Play the scenes that show what Stepwell promises",
		Long: `Scenes plays four short stories on a store of its own, which is thrown away, prints every step and checks every invariant at
the end. It exits with 1 when a promise is not kept. The clock is moved, so that nobody waits.

` + sceneList(),
		Example: `  stepwell scenes
  stepwell scenes 2
  stepwell scenes --memory 1 3`,
		RunE: a.do(func(ctx context.Context, args []string) error {
			numbers, err := sceneNumbers(args)
			if err != nil {
				return err
			}
			for i, n := range numbers {
				if i > 0 && !a.json {
					_, _ = fmt.Fprintln(a.out)
				}
				var broken error
				say := func(format string, args ...any) {
					step := fmt.Sprintf(format, args...)
					if a.json {
						broken = firstError(broken, emit(a.out, sceneLine{n, step}))
						return
					}
					_, err := fmt.Fprintln(a.out, step)
					broken = firstError(broken, err)
				}
				if err := boot.PlayScene(ctx, n, memory, a.now(), say); err != nil {
					return err
				}
				if broken != nil {
					return broken
				}
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&memory, "memory", false, "on the store in memory instead of a file")
	return c
}

func sceneList() string {
	text := ""
	for n := 1; n <= boot.SceneCount; n++ {
		text += fmt.Sprintf("  %d  %s\n", n, boot.SceneTitle(n))
	}
	return text[:len(text)-1]
}

func sceneNumbers(args []string) ([]int, error) {
	var numbers []int
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 || n > boot.SceneCount {
			return nil, usage("there is no scene %q: want numbers from 1 to %d", oneLine(arg, 40), boot.SceneCount)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		for n := 1; n <= boot.SceneCount; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// topics are pages of help that belong to no command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "lanes", Short: "How messages wait for their turn", Long: `A message is submitted to a lane of a head and waits there until a run lands it. Submitting never waits for a run.

  steer   lands at the next boundary: after the response, or the tool calls, under way. It steers the run that is live.
  queue   lands when no run is live. It starts the next one.

Until it has landed, a message can be cancelled, moved to another lane, edited and reordered:

  stepwell pending
  stepwell cancel 1
  stepwell redeliver 2 --lane steer`},
		{Use: "replay", Short: "What happens to a tool when the process dies", Long: `Before a tool runs, its intent is stored; after it, its result. A process that dies in between leaves an intent without a
result, and whoever carries the run on does what the tool's replay policy says:

  safe    run it again: it only reads, or doing it twice is doing it once
  never   do not: the model is told that the call was interrupted and may have happened

Never is the default. The tools note and slow have it: say "slow-tool" to the scripted model, kill the server with kill -9,
start it again, and see with stepwell log that the call was not repeated.`},
	}
}
