package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/pkg/api"
	"github.com/stepwell-dev/stepwell/pkg/kernel/object"
)

// The variables that only the command knows; those of a host are in package boot.
const (
	envServer  = "STEPWELL_SERVER"
	envSession = "STEPWELL_SESSION"
	envUser    = "STEPWELL_USER"
)

// An app is one run of the command with all that it touches of the outside.
type app struct {
	in                     io.Reader
	out, err               io.Writer
	name                   string // what to type to run this program
	env                    func(name string) string
	now                    func() time.Time
	pid                    int
	typed, shown, errShown bool // stdin, stdout, stderr are a terminal

	// The flags of every command.
	store, server, token, session string
	json                          bool

	started bool // a command has begun, so that an error is not one of usage
}

// execute runs the command of args and returns its exit code.
func (a *app) execute(ctx context.Context, args []string) int {
	root := a.root() //nolint:contextcheck // each command gets ctx from cobra
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return a.report(ctx, err)
	}
	return exitOK
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "stepwell",
		Short: "Conversations with models that survive kill -9",
		Long: `Stepwell keeps conversations with models as repositories: every message, tool call and answer is a durable step.
A run that dies is carried on by the next process. Any number of people and programs may write and watch.

Commands talk to the server of the store's file when one is running, and else open the store themselves.

` + codesHelp,
		Example: `  stepwell serve                     # in one terminal
  stepwell chat                      # in another, as many as you like
  stepwell send --wait "tools"       # from a script`,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	f := root.PersistentFlags()
	f.StringVar(&a.store, "store", "", "file of the store, or dynamodb://TABLE?bucket=BUCKET (env "+boot.EnvStore+"; default "+boot.DefaultStore+")")
	f.StringVar(&a.server, "server", "", "address of a server, such as http://127.0.0.1:7433 (env "+envServer+")")
	f.StringVar(&a.token, "token", "", "bearer token of the server (env "+boot.EnvToken+")")
	f.StringVarP(&a.session, "session", "s", "", "id of the session (env "+envSession+"; default \""+defaultSession+"\")")
	f.BoolVar(&a.json, "json", false, "print JSON: one document, or one line for each event")
	_ = root.RegisterFlagCompletionFunc("session", a.completeSessions)

	root.AddGroup(
		&cobra.Group{ID: "talk", Title: "Talk:"},
		&cobra.Group{ID: "keep", Title: "Sessions and history:"},
		&cobra.Group{ID: "look", Title: "Look inside and look after:"},
	)
	group := func(id string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("talk", a.serveCommand(), a.chatCommand(), a.sendCommand(), a.watchCommand(), a.replyCommand(), a.abortCommand(),
		a.pendingCommand(), a.cancelCommand(), a.redeliverCommand())
	group("keep", a.sessionsCommand(), a.logCommand(), a.headsCommand(), a.moveCommand(), a.mergeCommand())
	group("look", a.refsCommand(), a.reflogCommand(), a.catCommand(), a.fsckCommand(), a.gcCommand(), a.doctorCommand(), a.awsCommand(), a.scenesCommand())
	root.AddCommand(a.versionCommand())
	root.AddCommand(topics()...)
	root.SetHelpCommandGroupID("")
	for _, c := range root.Commands() {
		c.Long = withCodes(c)
	}
	return root
}

// body is what a command does once its arguments are known to be well formed.
type body func(ctx context.Context, args []string) error

// do marks that a command has begun.
func (a *app) do(run body) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return run(cmd.Context(), args)
	}
}

// config returns the configuration with this run's flags.
func (a *app) config(more map[string]string) (boot.Config, error) {
	flags := map[string]string{boot.EnvStore: a.store, boot.EnvToken: a.token}
	for k, v := range more {
		flags[k] = v
	}
	c, err := boot.Load(flags, a.env)
	if err != nil {
		return c, &usageError{err}
	}
	return c, nil
}

// actor attributes what this command does.
func (a *app) actor() *object.Actor {
	user := a.env(envUser)
	if user == "" {
		user = a.env("USER")
	}
	return &object.Actor{ClientID: "stepwell", UserID: user}
}

// sessionID returns the session that is meant. It is never picked by how recent it is.
func (a *app) sessionID() api.SessionID {
	if a.session != "" {
		return api.SessionID(a.session)
	}
	if id := a.env(envSession); id != "" {
		return api.SessionID(id)
	}
	return defaultSession
}
