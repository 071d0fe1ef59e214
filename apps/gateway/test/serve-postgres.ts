import { startTestPostgres } from './test-postgres.ts'

// A PostgreSQL for tests that another program runs: prints where it is on one line, and ends with its standard input.
const postgres = await startTestPostgres()
process.stdout.write(`${JSON.stringify({ url: postgres.url, templateName: postgres.templateName })}\n`)
process.stdin.resume().once('end', () => void postgres.stop())
// Ctrl+C is for whoever runs the tests, who then closes the standard input.
process.on('SIGINT', () => {})
