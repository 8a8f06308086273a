// Command stub stands for every function: it tells a recorder what it was invoked with, and answers as the event asks.
//
// It speaks to the runtime itself, so that nothing stands between the emulator and what is found out about it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// An event is the part of every kind of event that the stub looks at.
type event struct {
	Version        string          `json:"version"`
	RouteKey       string          `json:"routeKey"`
	RawPath        string          `json:"rawPath"`
	RequestContext json.RawMessage `json:"requestContext"`
	Records        []struct {
		MessageID string `json:"messageId"`
		Body      string `json:"body"`
	} `json:"Records"`
	Do string `json:"do"`
}

func main() {
	api := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/"
	recorder, err := os.ReadFile(filepath.Join(os.Getenv("LAMBDA_TASK_ROOT"), "recorder"))
	if err != nil {
		panic(err)
	}
	for count := 1; ; count++ {
		resp, err := http.Get(api + "next")
		if err != nil {
			os.Exit(1)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		id := resp.Header.Get("Lambda-Runtime-Aws-Request-Id")
		record, _ := json.Marshal(map[string]any{
			"function": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), "event": json.RawMessage(body), "env": environment(), "id": id, "count": count, "pid": os.Getpid(),
			"deadline": resp.Header.Get("Lambda-Runtime-Deadline-Ms"), "at": time.Now().UnixMilli(),
		})
		http.Post(string(recorder), "application/json", bytes.NewReader(record))
		var e event
		_ = json.Unmarshal(body, &e)
		answer(api+id, e)
	}
}

func answer(url string, e event) {
	switch {
	case e.Version == "2.0" && e.RouteKey == "$default":
		stream(url)
		return
	case e.Version == "2.0":
		reply(url, map[string]any{
			"statusCode": 200, "headers": map[string]string{"Content-Type": "application/json"},
			"body": fmt.Sprintf(`{"function":%q,"route":%q,"path":%q,"context":%s}`, os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), e.RouteKey, e.RawPath, e.RequestContext),
		})
		return
	}
	failures := []any{}
	for _, r := range e.Records {
		if strings.Contains(r.Body, "fail") {
			failures = append(failures, map[string]string{"itemIdentifier": r.MessageID})
		}
		if strings.Contains(r.Body, "slow") {
			time.Sleep(3 * time.Second)
		}
	}
	if e.Do == "crash" {
		os.Exit(3)
	}
	if e.Do == "chatter" {
		for range 2000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("chatter ", 16))
		}
	}
	reply(url, map[string]any{"batchItemFailures": failures})
}

func reply(url string, body any) {
	text, _ := json.Marshal(body)
	if resp, err := http.Post(url+"/response", "application/json", bytes.NewReader(text)); err == nil {
		resp.Body.Close()
	}
}

// stream sends two events a second apart, as a function does that streams its response.
func stream(url string) {
	r, w := io.Pipe()
	go func() {
		fmt.Fprint(w, `{"statusCode":200,"headers":{"Content-Type":"text/event-stream"}}`+strings.Repeat("\x00", 8))
		for i := range 2 {
			fmt.Fprintf(w, "id: %d\ndata: {\"sent\":%d}\n\n", i, time.Now().UnixMilli())
			time.Sleep(time.Second)
		}
		w.Close()
	}()
	req, _ := http.NewRequest(http.MethodPost, url+"/response", r)
	req.Header.Set("Content-Type", "application/vnd.awslambda.http-integration-response")
	req.Header.Set("Lambda-Runtime-Function-Response-Mode", "streaming")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}

// environment is what the function finds in its environment, without the values of the machine's own.
func environment() map[string]string {
	out := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		for _, prefix := range []string{"AWS_", "STEPWELL_", "OPENAI_", "LAMBDA_", "_"} {
			if strings.HasPrefix(name, prefix) {
				out[name] = value
			}
		}
	}
	return out
}
