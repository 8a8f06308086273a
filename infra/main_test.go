package main

import (
	"os"
	"testing"

	"github.com/aws/jsii-runtime-go"
)

// The CDK runs in a process of its own, which has files to remove.
func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}
