import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { QUICK_IMPORTS } from '../../../platform/quick-imports.ts'

export interface OrderedProcess {
  /** The network namespace that it is to be in, by its name; null for the test's own. */
  namespace: string | null
  uid: number
  program: string[]
  /** A shell line that changes what it finds on its computer, in a view of its own. */
  before?: string
}

/** Starts a process that carries out one order a line and answers each by one line, and waits until it is ready. */
export async function openOrderedProcess<Order>({ namespace, uid, program, before = ':' }: OrderedProcess) {
  const become = uid === 0 ? '' : `setpriv --reuid ${uid} --regid ${uid} --clear-groups`
  const inside = namespace === null ? [] : ['nsenter', `--net=/run/netns/${namespace}`]
  const view = ['unshare', '--mount', 'sh', '-c', `${before} && exec ${become} "$@"`, 'sh']
  const [file = '', ...args] = namespace === null ? program : [...inside, ...view, ...program]
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, HOME: '/', ...(uid === process.getuid?.() && QUICK_IMPORTS) },
  })
  const waiting: { answered(line: string): void; ended(error: Error): void }[] = []
  createInterface({ input: child.stdout }).on('line', answer => waiting.shift()?.answered(answer))
  const gone = once(child, 'close').then(() => {
    for (const { ended } of waiting.splice(0)) ended(new Error('the process ended'))
  })
  child.stdin.on('error', () => undefined)
  const next = () =>
    new Promise<string>((answered, ended) => {
      waiting.push({ answered, ended })
    })

  async function ask(order: Order): Promise<unknown> {
    const answer = next()
    child.stdin.write(`${JSON.stringify(order)}\n`)
    const { result, error } = JSON.parse(await answer) as { result?: unknown; error?: string }
    if (error !== undefined) throw new Error(error)
    return result
  }
  await next()
  return {
    ask,
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await gone
    },
    async end(): Promise<void> {
      child.stdin.end()
      await gone
    },
  }
}

/** The other side: carries out orders as they come, until there are no more. */
export async function serveOrders<Order>(carryOut: (order: Order) => Promise<unknown>): Promise<void> {
  // It may be killed, and then leaves nothing of what it compiled to the next one.
  flushCompileCache()
  process.stdout.write('{}\n')
  for await (const line of createInterface({ input: process.stdin })) {
    const answer = await carryOut(JSON.parse(line)).then(
      result => ({ result }),
      error => ({ error: String(error) }),
    )
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
}
