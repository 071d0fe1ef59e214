import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { commands, eventually, expectCode, type Subject, text } from './conformance-tools.ts'

/** How every driver runs commands, opens ports, measures, and keeps logs. */
export function describeTalk(subject: Subject): void {
  test('exec tells output, errors and exit code apart', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const result = await driver.exec(id, ['sh', '-c', 'echo out; echo err >&2; exit 7'])
    expect(result).toEqual({ exit_code: 7, stdout: 'out\n', stderr: 'err\n' })
    expect((await driver.exec(id, ['/no/such/program'])).exit_code).toBeGreaterThanOrEqual(126)
    expect((await driver.exec(id, ['printf', '%s', 'a b  c"\'$X'])).stdout).toBe('a b  c"\'$X')
  })

  test('exec cuts output at the limit and ends what takes too long', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    const cut = await driver.exec(id, ['seq', '1', '1000000'], { output_bytes_max: 1000 })
    expect(cut.stdout.length).toBe(1000)
    const began = Date.now()
    await expectCode(driver.exec(id, ['sleep', '31'], { timeout_ms: 200 }), 'failed')
    expect(Date.now() - began).toBeLessThan(10_000)
    await eventually(async () => {
      expect(await commands(driver, id)).not.toContain('sleep 31')
    })
  })

  test('[B1] a port in the machine can be talked to, with half-closed connections and many bytes', async () => {
    const driver = subject.driver()
    const { id } = await subject.running({ ports: [8080] })
    await expectCode(driver.connect(id, 8080), 'port_closed')
    await text(driver, id, `setsid perl -e '${ECHO_SERVER}' 8080 > /dev/null 2>&1 &`)
    await eventually(async () => {
      const probe = await driver.connect(id, 8080)
      probe.destroy()
    })
    const stream = await driver.connect(id, 8080)
    const sent = randomBytes(3_000_000)
    const received: Buffer[] = []
    stream.on('data', chunk => received.push(chunk))
    const ended = new Promise(resolve => stream.on('end', resolve))
    stream.end(sent)
    await ended
    expect(Buffer.concat(received).equals(sent)).toBe(true)
  })

  test('stats say what the machine uses', async () => {
    const driver = subject.driver()
    const { id } = await subject.running()
    await driver.stats(id)
    await text(driver, id, 'head -c 5000000 /dev/zero > ~/five; (perl -e "1 while 1" > /dev/null 2>&1 &)')
    await eventually(async () => {
      const stats = await driver.stats(id)
      expect(stats.cpu_percent).toBeGreaterThan(5)
      expect(stats.cpu_percent).toBeLessThan(400)
      expect(stats.memory_used_mb).toBeGreaterThan(0)
      expect(stats.sampled_at).toBeInstanceOf(Date)
    })
  })

  test('the start command runs, its output is kept, and its end does not end the machine', async () => {
    const driver = subject.driver()
    const spec = await subject.running({ command: ['sh', '-c', 'seq 1 50; echo to-err >&2; sleep 3600'] })
    await eventually(async () => {
      const lines = (await driver.logs(spec.id, { lines_max: 1000 })).split('\n')
      expect(lines).toContain('50')
      expect(lines).toContain('to-err')
    })
    const last = (await driver.logs(spec.id, { lines_max: 3 })).trimEnd().split('\n')
    expect(last).toHaveLength(3)
  })
}

/** Sends back what it gets on the port that is its argument, until the other side has finished. */
const ECHO_SERVER =
  'socket(S,2,1,0);setsockopt(S,1,2,pack("i",1));bind(S,pack("Sna4x8",2,$ARGV[0],"\\0\\0\\0\\0"))or die;listen(S,9);' +
  'while(accept(C,S)){while(sysread(C,$b,65536)){for($o=0;$o<length $b;){$o+=syswrite(C,$b,65536,$o)}}close C}'
