package awsfault

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
)

const dynamoNamespace = "com.amazonaws.dynamodb.v20120810#"

// respond makes the response to req that has this status and body.
func respond(req *http.Request, status int, contentType string, body []byte) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {contentType}, "X-Amzn-Requestid": {"AWSFAULT"}, "X-Amz-Request-Id": {"AWSFAULT"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: req,
	}
}

// respondJSON answers a request to DynamoDB.
func respondJSON(req *http.Request, status int, body any) (*http.Response, error) {
	data, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	return respond(req, status, "application/x-amz-json-1.0", data), nil
}

// A reason is why one item cancelled a transaction, or "None".
type reason struct {
	Code    string
	Message string `json:",omitzero"`
}

// refuse answers a request to DynamoDB with an error.
func refuse(req *http.Request, kind, text string, reasons ...reason) (*http.Response, error) {
	return respondJSON(req, http.StatusBadRequest, struct {
		Type    string   `json:"__type"`
		Message string   `json:"message"`
		Reasons []reason `json:"CancellationReasons,omitzero"`
	}{dynamoNamespace + kind, text, reasons})
}

// cancel answers a transaction of n items with reasons by position.
func cancel(req *http.Request, n int, codes ...string) (*http.Response, error) {
	texts := map[string]string{
		"TransactionConflict":           "Transaction is ongoing for the item",
		"ConditionalCheckFailed":        "The conditional request failed",
		"ThrottlingError":               "Throughput exceeds the current capacity of your table or index.",
		"ProvisionedThroughputExceeded": "The level of configured provisioned throughput for the table was exceeded.",
	}
	reasons, names := make([]reason, n), make([]string, n)
	for i := range reasons {
		reasons[i].Code = "None"
		if i < len(codes) && codes[i] != "" {
			reasons[i] = reason{codes[i], texts[codes[i]]}
		}
		names[i] = reasons[i].Code
	}
	return refuse(req, "TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons ["+strings.Join(names, ", ")+"]", reasons...)
}

// refuseS3 answers a request to S3 with an error.
func refuseS3(req *http.Request, status int, code, text string) (*http.Response, error) {
	data, err := xml.Marshal(struct {
		XMLName   xml.Name `xml:"Error"`
		Code      string   `xml:"Code"`
		Message   string   `xml:"Message"`
		RequestID string   `xml:"RequestId"`
	}{Code: code, Message: text, RequestID: "AWSFAULT"})
	if err != nil {
		return nil, fmt.Errorf("writing an answer: %w", err)
	}
	return respond(req, status, "application/xml", append([]byte(xml.Header), data...)), nil
}

// errRefused is a connection that was never made, errReset one that broke while an answer was awaited.
func errRefused() error { return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED} }
func errReset() error   { return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET} }
