/**
 * What ships nowhere although it stands beside the code: tests, the fixtures of several tests
 * (`billing-fixture.ts`), and the suites that run against every driver of a port (those in a folder
 * `conformance`). A pattern for paths.
 */
export const TEST_FILE_PATTERN = String.raw`(\.test|-fixture|/conformance/[a-z-]+)\.tsx?$`
