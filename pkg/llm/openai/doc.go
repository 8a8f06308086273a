// Package openai talks to servers that speak OpenAI's chat completions protocol: OpenAI itself and the many that copy
// it, local ones included. It is a small client of its own, because such servers differ in ways a client has to forgive.
//
// Every request it sends is valid whatever history it is given: each tool call is followed by exactly one result, ids
// are unique and short, and no block is empty.
package openai
