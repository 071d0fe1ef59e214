import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../src/drivers/compute/conformance/tools.ts'
import type { S3Target } from './s3-conformance.ts'

const BINARY = join(process.env.PEERS ?? join(homedir(), '.cache', 'peers'), 'bin', 'versitygw')
const ACCESS_KEY = 'PEERPEERPEERPEERPEER'
const SECRET = 'a secret of the peer alone'

/** Whether a real S3 server is here to be compared with, or why not. */
export const versitygwProbe = existsSync(BINARY)
  ? ({ ok: true } as const)
  : ({ ok: false, why: `${BINARY} is not there` } as const)

/** Checks of `describeS3` in which it does otherwise, whoever asks it. */
export const VERSITYGW_DIFFERS = {
  'are refused in a wrong order': 'it says EntityTooSmall before it looks at the order of parts',
  'copies by conditions': 'it answers 304 where the source has the ETag that it is not to have',
  'deleting many says only': 'it says what it has deleted all the same',
  'deleting many by ETags': 'it looks at no ETag, and deletes what has another',
  'by a token that was not given': 'it takes any text for a token',
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

/** Starts versitygw with one bucket, over a folder of its own. */
export async function startVersitygw(): Promise<{ target: S3Target; stop(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-versitygw-'))
  mkdirSync(join(dir, 'bucket'))
  const port = await freePort()
  const env = { ROOT_ACCESS_KEY: ACCESS_KEY, ROOT_SECRET_KEY: SECRET }
  const child: ChildProcess = spawn(BINARY, ['--port', `127.0.0.1:${port}`, 'posix', dir], {
    env,
    stdio: 'ignore',
  })
  const endpoint = `http://127.0.0.1:${port}`
  await eventually(async () => void (await fetch(endpoint)))
  return {
    target: {
      endpoint,
      region: 'us-east-1',
      bucket: 'bucket',
      accessKeyId: ACCESS_KEY,
      secretAccessKey: SECRET,
    },
    async stop() {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill()
      await ended
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
