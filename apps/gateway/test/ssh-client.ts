import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** How a program of OpenSSH ended, and what it said. */
export interface SshResult {
  code: number | null
  out: string
  err: string
}

/** Whether a program is installed here. */
export function hasProgram(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined
}

/**
 * OpenSSH's own clients, with settings of their own: nothing of whoever runs the tests is used.
 * @param options.folder For keys and what is known of servers.
 */
export function createSshClient({ folder, port }: { folder: string; port: number }) {
  const known = join(folder, 'known_hosts')

  const settings = (key: string, agent = 'none') =>
    Object.entries({
      IdentityFile: key,
      IdentitiesOnly: 'yes',
      IdentityAgent: agent,
      BatchMode: 'yes',
      UserKnownHostsFile: known,
      GlobalKnownHostsFile: '/dev/null',
      StrictHostKeyChecking: 'yes',
      ConnectTimeout: '60',
      Port: String(port),
    }).flatMap(([name, value]) => ['-o', `${name}=${value}`])

  /** Starts one of the programs; `ssh`, `scp` and `sftp` take the same settings. @param agent Its socket; none where left out. */
  function start(
    program: string,
    key: string,
    args: string[],
    agent?: string,
  ): ChildProcessWithoutNullStreams {
    return spawn(program, ['-F', 'none', ...settings(key, agent), ...args])
  }

  return {
    start,
    settings,
    /** Makes a key. @returns Its file, and the line of its public half. */
    makeKey(name: string, type = 'ed25519'): { file: string; line: string } {
      const file = join(folder, name)
      if (!existsSync(file)) execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', name, '-f', file])
      return { file, line: readFileSync(`${file}.pub`, 'utf8').trim() }
    },
    /** Asks the server for its keys, and knows them from then on. @returns Their fingerprints. */
    async learnHost(): Promise<string[]> {
      const { out } = await resultOf(spawn('ssh-keyscan', ['-T', '60', '-p', String(port), '127.0.0.1']))
      writeFileSync(known, out)
      return execFileSync('ssh-keygen', ['-l', '-f', known], { encoding: 'utf8' })
        .trim()
        .split('\n')
        .map(line => line.split(' ')[1] ?? '')
    },
    /** Runs a program to its end. @param input What it reads; left out: nothing. */
    run(
      program: string,
      key: string,
      args: string[],
      input: string | Buffer = '',
      agent?: string,
    ): Promise<SshResult> {
      const child = start(program, key, args, agent)
      child.stdin.on('error', () => undefined)
      child.stdin.end(input)
      return resultOf(child)
    },
  }
}
export type SshClient = ReturnType<typeof createSshClient>

/** What a program that was started says until its end. */
export function resultOf(child: ChildProcessWithoutNullStreams): Promise<SshResult> {
  const out: Buffer[] = []
  const err: Buffer[] = []
  child.stdout.on('data', piece => out.push(piece))
  child.stderr.on('data', piece => err.push(piece))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => {
      resolve({ code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() })
    })
  })
}
