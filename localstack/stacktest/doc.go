// Package stacktest has the tests of a deployment: the stack of infra, deployed by the CDK on the emulator, with the real functions, driven through
// the address of its API and tokens, as a phone does.
package stacktest
