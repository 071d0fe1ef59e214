import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { describeWhere } from '../conformance/tools.ts'
import { findLauncher } from './probe-sandbox.ts'
import { LOOPBACK_WAYS } from './unshare-launcher.ts'

const LAUNCHER = 'unshare'
const found = await findLauncher(LAUNCHER)

describeWhere('loopback', found.launcher ? { ok: true } : { ok: false, ...found }, () => {
  describe('a new network without a loopback', () => {
    test.each(LOOPBACK_WAYS)('comes up by: %s', way => {
      const tool = way.split(' ')[0] ?? ''
      const here = spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0
      expect(inNewNetwork(':').status).not.toBe(0)
      // A tool that this computer lacks must fail, so that the next way is tried.
      if (here) expect(inNewNetwork(way)).toEqual({ status: 0, stderr: '' })
      else expect(inNewNetwork(way).status).not.toBe(0)
    })
  })
})

/** Runs a shell line in a network of its own and then sends to the loopback, which fails while it is down. */
function inNewNetwork(line: string) {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  const script = `${line} && exec 3<>/dev/udp/127.0.0.1/9`
  const { status, stderr } = spawnSync(LAUNCHER, [...user, '--net', 'bash', '-c', script], {
    encoding: 'utf8',
  })
  return { status, stderr }
}
