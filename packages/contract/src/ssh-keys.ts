import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import { KEY_NAME_CHARS_MAX, LONG_TEXT_BODY_BYTES_MAX, SSH_PUBLIC_KEY_CHARS_MAX } from './limits.ts'
import { holdsPrivateKey } from './private-key.ts'

/** A customer's public SSH key. */
export const sshKey = z.object({
  id: z.string(),
  name: z.string(),
  /** Such as `ssh-ed25519`. */
  type: z.string(),
  /** Size in bits where keys of that type differ in it; else null. */
  bits: z.number().int().nullable(),
  /** `SHA256:` and 43 characters of base64, as `ssh-keygen -l` prints it. */
  fingerprint: z.string(),
  /** Type, key and comment in one line, as it is written into an instance. */
  public_key: z.string(),
  created_at: timestamp,
})
z.globalRegistry.add(sshKey, { id: 'SshKey' })
export type SshKey = z.infer<typeof sshKey>

export const listSshKeys = defineCall({
  operation: 'ssh_key.list',
  method: 'GET',
  path: '/api/ssh-key/',
  summary: 'The public SSH keys of the account, newest first.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: z.array(sshKey),
})

/** What the form that adds a key sends. */
export const addSshKeyBody = z.object({
  /** Empty takes the key's comment, else its type. */
  name: z.string(by('wrong_type')).trim().max(KEY_NAME_CHARS_MAX, by('too_long')).default(''),
  /** One line as in `id_ed25519.pub`; what is wrong with it is a rule of this field. */
  public_key: z
    .string(by('required'))
    .trim()
    // First, because a long private key must not be called too long.
    .refine(text => !holdsPrivateKey(text), by('ssh_key_private'))
    .min(1, by('required'))
    .max(SSH_PUBLIC_KEY_CHARS_MAX, by('too_long')),
})
z.globalRegistry.add(addSshKeyBody, { id: 'AddSshKeyBody' })

export const addSshKey = defineCall({
  operation: 'ssh_key.add',
  method: 'POST',
  path: '/api/ssh-key/',
  summary: 'Adds a public SSH key: ed25519, ecdsa, sk keys, and RSA from 2048 bits.',
  audience: 'verified',
  timeout: 'normal',
  proof: 'recent',
  audit: { target: ['data.id'] },
  stales: ['ssh_key.list'],
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  body: addSshKeyBody,
  data: sshKey,
})

export const removeSshKey = defineCall({
  operation: 'ssh_key.remove',
  method: 'DELETE',
  path: '/api/ssh-key/{id}',
  summary: 'Removes a public SSH key of the account.',
  audience: 'user',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['ssh_key.list'],
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  data: z.null(),
})

export const sshKeyCalls = [listSshKeys, addSshKey, removeSshKey] as const
