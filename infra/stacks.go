package main

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Stacks are the two halves of a stage. The functions can be taken down and put up again without touching what they keep.
type Stacks struct {
	Data    *Data
	Compute *Compute
}

// A Compute is the stack of everything that keeps nothing.
type Compute struct {
	awscdk.Stack
	config Config
	data   *Data

	queues    queues
	bus       eventBus
	schedules schedules
	functions functions
	api       httpAPI
}

// NewStacks makes both stacks of a stage. It fails when a function was not built.
func NewStacks(scope constructs.Construct, config Config) (*Stacks, error) {
	code, err := findCode(config.Dist)
	if err != nil {
		return nil, err
	}
	data := newData(scope, config)
	name := "stepwell-" + config.Stage
	c := &Compute{config: config, data: data, Stack: awscdk.NewStack(scope, &name, &awscdk.StackProps{
		Description: jsii.String(fmt.Sprintf("Stepwell %s: functions, API, queues and schedules", config.Stage)),
	})}
	// In this order, since each is made from those before it.
	c.queues = c.newQueues()
	c.bus = c.newBus()
	c.schedules = c.newSchedules()
	c.functions = c.newFunctions(code)
	c.newSources()
	c.newSweep()
	c.api = c.newAPI()
	c.newAlarms()
	c.newDashboard()
	c.newOutputs()
	return &Stacks{Data: data, Compute: c}, nil
}
