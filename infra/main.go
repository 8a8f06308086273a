// Command infra is Stepwell in an AWS account: what keeps sessions, and the functions around it.
//
// It is an app of the CDK. Settings come from its context, see [ReadConfig]; what is missing is said before anything is synthesised.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	code := run()
	jsii.Close()
	os.Exit(code)
}

func run() int {
	app := NewApp()
	config, err := ReadConfig(func(key string) any { return app.Node().TryGetContext(&key) })
	if err == nil {
		_, err = NewStacks(app, config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stepwell infra:", err)
		return 1
	}
	app.Synth(nil)
	return 0
}

// NewApp returns an app with the CDK's choices made, so that they do not depend on who runs it.
func NewApp() awscdk.App {
	return awscdk.NewApp(&awscdk.AppProps{
		AnalyticsReporting: jsii.Bool(false),
		Context: &map[string]any{
			// A table that functions still use cannot be taken away from under them.
			"@aws-cdk/core:defaultCrossStackReferences": "strong",
			// An OpenAI key in a template is for tests, and [Config] says so; nothing else here is a secret.
			"@aws-cdk/core:checkSecretUsage": true,
		},
	})
}
