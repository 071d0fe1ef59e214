import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { homedir } from 'node:os'
import { join } from 'node:path'

export type DockerProbe =
  | { ok: true; socket_path: string }
  | { ok: false; why: string; how_to_get_it: string }

const PING_TIMEOUT_MS = 3_000

/**
 * Finds the Docker Engine's socket and asks whether it answers. Without a path the usual places are tried:
 * the computer's own engine, a rootless one, and Docker Desktop's.
 */
export async function probeDocker(socketPath?: string): Promise<DockerProbe> {
  const found = (socketPath ? [socketPath] : usualPlaces()).filter(existsSync)
  const failures: string[] = []
  for (const path of found) {
    try {
      await ping(path)
      return { ok: true, socket_path: path }
    } catch (error) {
      failures.push(`${path}: ${(error as Error).message}`)
    }
  }
  const denied = failures.some(failure => failure.includes('EACCES'))
  return {
    ok: false,
    why:
      failures.length > 0 ? `Docker does not answer at ${failures.join(', ')}` : 'there is no Docker socket',
    how_to_get_it: denied
      ? 'let the gateway’s user use Docker (usermod -aG docker <user>, then log in again)'
      : 'install and start Docker Engine, or set the path of its socket',
  }
}

/** By hand: a computer without Docker need not load its client to find that out. */
function ping(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path: '/_ping', timeout: PING_TIMEOUT_MS }, answer => {
      answer.resume()
      if (answer.statusCode === 200) resolve()
      else reject(new Error(`it answered with status ${answer.statusCode}`))
    })
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${PING_TIMEOUT_MS} ms`)))
    asked.on('error', reject)
    asked.end()
  })
}

function usualPlaces(): string[] {
  return [
    '/var/run/docker.sock',
    `/run/user/${process.getuid?.() ?? 0}/docker.sock`,
    join(homedir(), '.docker/run/docker.sock'),
  ]
}
