import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../lib/paths.mjs'
import { stopRunningCommands } from './command.ts'
import { startOnePostgres } from './one-postgres.ts'
import { lookAgain } from './second-look.ts'
import {
  buildConsole,
  buildGateway,
  checkArrows,
  checkStyle,
  checkTypes,
  checkUnused,
} from './static-checks.ts'
import { shortReason, slowestLine, summaryLine, sumTallies, type Tally, tallyDetails } from './tally.ts'
import { runBrowserTests, runVitest, timedTestsOver } from './test-runs.ts'
import { leftToTheirTurn, takeTurn, turnLines } from './turns.ts'

interface Stage {
  title: string
  run: () => Promise<Tally>
}

/** Each row runs beside the other; both take about as long, and one core. */
const STATIC_CHECKS: Stage[][] = [
  [{ title: 'TypeScript', run: checkTypes }],
  [
    { title: 'Biome', run: checkStyle },
    { title: 'Import directions', run: checkArrows },
    { title: 'Unused code', run: checkUnused },
    { title: 'Console build', run: buildConsole },
    { title: 'Gateway build', run: buildGateway },
  ],
]

await main(process.argv.slice(2))

async function main(filters: readonly string[]): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'berth-test-'))
  // Everything that was asked to end must have ended when the command does.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      void stopRunningCommands().then(() => {
        rmSync(scratch, { recursive: true, force: true })
        process.exit(signal === 'SIGINT' ? 130 : 143)
      })
    })
  }
  const tallies: Tally[] = []
  // Who names files wants all of them.
  const now = new Date()
  const left = filters.length === 0 ? leftToTheirTurn(now) : []
  if (filters.length === 0) takeTurn(now)
  // Beside the checks, so that no test waits for it. Where it does not start, the tests start their own, and say why.
  const postgres = startOnePostgres().catch(() => async () => {})
  if (filters.length === 0) tallies.push(...(await Promise.all(STATIC_CHECKS.map(runStages))).flat())
  const stopPostgres = await postgres
  const unitTests = runStage({
    title: 'Unit and API tests',
    run: () => runVitest(scratch, filters, without(left)),
  })
  if (filters.length === 0) {
    // Either waits a good part of its time, for boots, pages and pauses: beside each other they keep two cores busy.
    await timedTestsOver(scratch, unitTests)
    const walks = await runStage({
      title: 'Browser tests',
      run: () => runBrowserTests(scratch, walksWithout(left)),
    })
    const alone = ['--maxWorkers=1']
    tallies.push(await lookAgain(await unitTests, files => again(() => runVitest(scratch, files, alone))))
    tallies.push(await lookAgain(walks, files => again(() => runBrowserTests(scratch, files))))
  } else tallies.push(await unitTests)
  await stopPostgres()
  rmSync(scratch, { recursive: true, force: true })
  const total = sumTallies(tallies)
  for (const line of ['', slowestLine(total), ...tallyDetails(total), ...turnLines(left)]) console.log(line)
  console.log(summaryLine(total))
  process.exitCode = total.failed.length === 0 ? 0 : 1
}

/** Vitest's options that leave files out. */
function without(files: readonly string[]): string[] {
  return files.map(file => `--exclude=${file}`)
}

/** The browser tests that are left, by their names; none, which means all of them, where none was left out. */
function walksWithout(files: readonly string[]): string[] {
  const isLeft = (walk: string) => files.includes(`e2e/${walk}`)
  const walks = globSync('*.spec.ts', { cwd: join(root, 'e2e') })
  return walks.some(isLeft) ? walks.filter(walk => !isLeft(walk)) : []
}

async function runStages(stages: readonly Stage[]): Promise<Tally[]> {
  const tallies: Tally[] = []
  for (const stage of stages) tallies.push(await runStage(stage))
  return tallies
}

function again(run: () => Promise<Tally>): Promise<Tally> {
  return runStage({ title: 'Failed tests, once more alone', run })
}

/** A stage that breaks down is a failed test; the later stages still have something to say. */
async function runStage(stage: Stage): Promise<Tally> {
  console.log(`\n── ${stage.title}`)
  const startedAt = performance.now()
  let tally: Tally
  try {
    tally = await stage.run()
  } catch (error) {
    console.log(error)
    tally = { passed: 0, failed: [{ name: stage.title, why: shortReason(String(error)) }], skipped: [] }
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`── ${stage.title}: ${summaryLine(tally)} (${seconds} s)`)
  return tally
}
