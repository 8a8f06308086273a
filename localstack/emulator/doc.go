// Package emulator gives tests a cloud to talk to: DynamoDB, S3 and what else MiniStack plays, over real HTTP.
//
// Start starts one emulator per test binary, on a free loopback port, and returns where it answers. The emulator lives as
// long as the test binary, however that ends. It is installed on first use, by localstack/setup.sh, into the cache of the
// repository. Tests of one binary share it, so each names what it makes with Name.
//
// The environment says which cloud it is:
//
//   - AWS_ENDPOINT_URL makes the tests use what answers there, LocalStack or a real account, and nothing is started. The
//     SDK's own variables apply then: credentials, region, AWS_ENDPOINT_URL_S3 and its kin.
//   - STEPWELL_CLOUD_TESTS=off skips the tests.
//   - CI=true fails where tests would otherwise be skipped because the emulator cannot be installed.
package emulator
