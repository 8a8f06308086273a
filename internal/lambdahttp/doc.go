// Package lambdahttp carries HTTP between the two doors of a Lambda function, an HTTP API of API Gateway and a function URL, and an
// [http.Handler], so that one handler is the local server and every function.
//
// [Serve] answers an event with one value, as API Gateway wants. [Stream] answers while the handler still writes, as a function URL in the mode
// RESPONSE_STREAM allows. Both give the handler a context that ends a little before the invocation, so that there is time to say so.
//
// Who makes a request is never read from a header that the client can set. API Gateway verifies tokens itself: [Authorized] takes the claims that
// its JWT authorizer found. A function URL does not: [Verified] verifies the bearer token. Behind either one [ClaimsOf] tells who it is.
//
// What an HTTP API does to a request before anyone here sees it: it decodes the path, twice, cuts it at a question mark that it finds then, refuses
// %25, and joins repeated headers by commas. Names that contain / ? or % do not come through in a path there; through a function URL they do.
package lambdahttp
