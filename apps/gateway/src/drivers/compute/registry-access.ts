import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { z } from 'zod'
import { ComputeError } from './port/compute-error.ts'
import { parseRegistryHost } from './port/image-reference.ts'
import type { RegistryAccess } from './port/registry-access.ts'

const PATH_LENGTH_MAX = 4_096
const USERNAME_LENGTH_MAX = 256
/** Tokens of clouds have some thousand characters. */
const PASSWORD_LENGTH_MAX = 16_384

/** A service of tokens and a few stores, each with a name or two. */
const ALSO_MAX = 16

const pathField = z.string().min(1).max(PATH_LENGTH_MAX)

/** A host as references have it. */
const hostField = z
  .string()
  .refine(text => parseRegistryHost(text) !== null, 'must be a host such as ghcr.io or localhost:5000')
  .transform(text => parseRegistryHost(text) ?? text)

/** What an operator says of a registry: one entry of the catalogue. Paths count from where the caller says. */
export const registryDescriptionSchema = z
  .strictObject({
    /** As in references to images; Docker Hub is `docker.io`. */
    host: hostField,
    username: z
      .string()
      .regex(/^[^:\p{Cc}]+$/u, 'must have no colon')
      .max(USERNAME_LENGTH_MAX)
      .optional(),
    /** Holds the password, or a token, and nothing else. */
    password_file: pathField.optional(),
    /** Authorities in PEM that vouch for the registry, in place of the public ones. */
    ca_file: pathField.optional(),
    /** Hosts in a private network that it may send to for tokens and blobs. */
    also: z.array(hostField).min(1).max(ALSO_MAX).optional(),
  })
  .superRefine(({ username, password_file, ca_file, also }, context) => {
    const complain = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (username !== undefined && password_file === undefined) {
      complain('password_file', 'is needed with username')
    }
    if (username === undefined && password_file !== undefined) {
      complain('username', 'is needed with password_file')
    }
    if (username === undefined && ca_file === undefined && also === undefined) {
      complain('username', 'or ca_file or also is needed')
    }
  })
export type RegistryDescription = z.infer<typeof registryDescriptionSchema>

/**
 * What the operator's images may show to their registries. Files are read at each pull, so that a renewed one is taken.
 * @param baseDir From where paths count.
 */
export function createRegistryAccess(
  described: readonly RegistryDescription[],
  baseDir: string,
): RegistryAccess {
  return async host => {
    const { username, password_file, ca_file, also = [] } = described.find(one => one.host === host) ?? {}
    const read = async (what: string, path: string) => {
      try {
        return await readFile(resolve(baseDir, path), 'utf8')
      } catch (cause) {
        throw new ComputeError('failed', `${what} of the registry ${host} cannot be read`, { cause })
      }
    }
    const ca = ca_file === undefined ? null : await read('ca_file', ca_file)
    if (username === undefined || password_file === undefined) return { login: null, ca, also }
    // An editor leaves a line break behind it.
    const password = (await read('password_file', password_file)).replace(/\r?\n$/, '')
    if (password === '' || password.length > PASSWORD_LENGTH_MAX) {
      throw new ComputeError('failed', `password_file of the registry ${host} holds no password`)
    }
    return { login: { username, password }, ca, also }
  }
}
