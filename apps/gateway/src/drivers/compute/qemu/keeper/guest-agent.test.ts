import { duplexPair } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { createGuestAgent, GUEST_AGENT_LIMITS } from './guest-agent.ts'

// Goal: a guest can neither hold up its keeper nor fill its memory, and nothing is asked of an agent that is not there.
// Method: the keeper's end of the line, and at the other end what a guest may do there.

/** How a guest answers: each line that comes, as it was sent. */
type Agent = (line: string, say: (text: string) => void) => void

const HELLO = /guest-sync-delimited.*"id":(\d+)/
/** An agent that answers as `qemu-ga` does. */
const honest =
  (answers: Record<string, unknown>): Agent =>
  (line, say) => {
    const id = HELLO.exec(line)?.[1]
    const { execute } = JSON.parse(line.slice(line.indexOf('{'))) as { execute: string }
    if (id) say(`\xff{"return":${id}}\n`)
    else if (execute in answers) say(`${JSON.stringify({ return: answers[execute] })}\n`)
    else if (execute !== 'guest-shutdown') say('{"error":{"class":"CommandNotFound","desc":"no"}}\n')
  }

function meet(agent: Agent, limits = {}) {
  const [ours, theirs] = duplexPair()
  const heard: string[] = []
  const say = (text: string) => void theirs.write(Buffer.from(text, 'latin1'))
  theirs.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString('latin1').split('\n').filter(Boolean)) {
      heard.push(line)
      agent(line, say)
    }
  })
  const guest = createGuestAgent(ours, { ...GUEST_AGENT_LIMITS, ...limits })
  guest.setOpen(true)
  return { guest, heard, say, ours, theirs }
}

describe('the agent of a guest', () => {
  const answers = { 'guest-get-osinfo': { 'pretty-name': 'A' }, 'guest-network-get-interfaces': [] }

  test('is asked once for all who ask at a time, and not where nobody has the port open', async () => {
    const { guest, heard } = meet(honest(answers))
    const told = await Promise.all([guest.facts(), guest.facts()])
    expect(told).toEqual([1, 2].map(() => ({ os: { 'pretty-name': 'A' }, interfaces: [] })))
    expect(heard).toHaveLength(3)
    guest.setOpen(false)
    expect([await guest.facts(), await guest.shutDown(), await guest.freeze()]).toEqual([null, false, 0])
    expect(heard).toHaveLength(3)
  })

  test('is told to shut down only once it has answered: a command does not wait for whoever comes later', async () => {
    const silent = meet(() => undefined, { answerMs: 10 })
    expect(await silent.guest.shutDown()).toBe(false)
    expect(silent.heard.join()).not.toContain('guest-shutdown')
    const there = meet(honest({}))
    expect(await there.guest.shutDown()).toBe(true)
    await expect.poll(() => there.heard.at(-1)).toContain('guest-shutdown')
  })

  test('that still says what it was asked before is heard for what it is asked now', async () => {
    const { guest, say } = meet((line, answer) => {
      if (HELLO.test(line)) answer('{"return":{"pretty-name":"old"}}\n{"return":-1}\nnonsense\n[[[\n')
      honest(answers)(line, answer)
    })
    say('{"return":{"pretty-name":"older"}}\n')
    expect(await guest.facts()).toMatchObject({ os: { 'pretty-name': 'A' } })
  })

  test('thaws what it froze where its machine was not ended', async () => {
    const { guest, heard } = meet(honest({ 'guest-fsfreeze-freeze': 2, 'guest-fsfreeze-thaw': 2 }), {
      frozenMs: 1,
    })
    expect(await guest.freeze()).toBe(2)
    await expect.poll(() => heard.at(-1)).toContain('guest-fsfreeze-thaw')
  })

  test('that talks without end is heard no further than its bytes, and not at all while nobody asks', async () => {
    const piece = 'x'.repeat(16 * 1024)
    let said = 0
    const { guest, theirs } = meet(() => flood(), { bytesMax: 256 * 1024 })
    function flood(): void {
      do said += piece.length
      while (theirs.write(piece))
      // Not at once: where nobody stops listening, time goes on all the same.
      theirs.once('drain', () => setImmediate(flood))
    }
    expect(await guest.facts()).toBeNull()
    const heard = said
    expect(heard).toBeLessThan(512 * 1024)
    for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate)
    expect(said - heard).toBeLessThan(128 * 1024)
  })

  test('that hangs up while it is asked is gone at once', async () => {
    const { guest } = meet(() => guest.setOpen(false))
    expect(await guest.facts()).toBeNull()
    const broken = meet(() => void broken.ours.destroy())
    expect(await broken.guest.facts()).toBeNull()
  })
})
