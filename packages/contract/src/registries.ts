import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import {
  KEY_NAME_CHARS_MAX,
  LONG_TEXT_BODY_BYTES_MAX,
  REGISTRY_HOST_CHARS_MAX,
  REGISTRY_PASSWORD_CHARS_MAX,
  REGISTRY_USERNAME_CHARS_MAX,
} from './limits.ts'

/** What asking a registry with a credential gave. */
export const REGISTRY_CHECK_RESULTS = ['accepted', 'refused', 'unreachable', 'not_a_registry'] as const
export type RegistryCheckResult = (typeof REGISTRY_CHECK_RESULTS)[number]

/** A credential of a container registry (R3.12). The password goes in and never comes out. */
export const registryCredential = z.object({
  id: z.string(),
  name: z.string(),
  /** Host, with a port where it is not the usual one, such as `ghcr.io`. */
  registry: z.string(),
  username: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
  /** When it was checked last and what came of it; null while it never was. */
  checked_at: timestamp.nullable(),
  check_result: z.enum(REGISTRY_CHECK_RESULTS).nullable(),
})
z.globalRegistry.add(registryCredential, { id: 'RegistryCredential' })
export type RegistryCredential = z.infer<typeof registryCredential>

const credentialName = z
  .string(by('required'))
  .trim()
  .min(1, by('required'))
  .max(KEY_NAME_CHARS_MAX, by('too_long'))
const registryUsername = z
  .string(by('required'))
  .trim()
  .min(1, by('required'))
  .max(REGISTRY_USERNAME_CHARS_MAX, by('too_long'))
const registryPassword = z
  .string(by('required'))
  .min(1, by('required'))
  .max(REGISTRY_PASSWORD_CHARS_MAX, by('too_long'))
const id = z.object({ id: z.uuid(by('not_allowed')) })

export const listRegistryCredentials = defineCall({
  operation: 'registry.list',
  method: 'GET',
  path: '/api/registry/',
  summary: 'The registry credentials of the account by name, without their passwords.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: z.array(registryCredential),
})

/** What the form that adds a credential sends. */
export const addRegistryCredentialBody = z.object({
  name: credentialName,
  /** A host, folded to lower case; `docker.io` where it is left out. */
  registry: z
    .string(by('wrong_type'))
    .trim()
    .toLowerCase()
    .max(REGISTRY_HOST_CHARS_MAX, by('too_long'))
    .regex(
      /^([a-z0-9]([a-z0-9-]*[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?$/,
      by('registry_host'),
    )
    .default('docker.io'),
  username: registryUsername,
  password: registryPassword,
})
z.globalRegistry.add(addRegistryCredentialBody, { id: 'AddRegistryCredentialBody' })

export const addRegistryCredential = defineCall({
  operation: 'registry.add',
  method: 'POST',
  path: '/api/registry/',
  summary: 'Keeps a credential of a container registry; its password is encrypted and never shown again.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['data.id'] },
  stales: ['registry.list'],
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  body: addRegistryCredentialBody,
  data: registryCredential,
})

export const editRegistryCredential = defineCall({
  operation: 'registry.edit',
  method: 'PUT',
  path: '/api/registry/{id}',
  summary: 'Changes what is given of a registry credential; a password that is left out stays.',
  audience: 'user',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: ['registry.list'],
  params: id,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  body: z.object({
    name: credentialName.optional(),
    username: registryUsername.optional(),
    password: registryPassword.optional(),
  }),
  data: registryCredential,
})

export const removeRegistryCredential = defineCall({
  operation: 'registry.remove',
  method: 'DELETE',
  path: '/api/registry/{id}',
  summary: 'Removes a registry credential of the account.',
  audience: 'user',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['registry.list'],
  params: id,
  data: z.null(),
})

export const checkRegistryCredential = defineCall({
  operation: 'registry.check',
  method: 'POST',
  path: '/api/registry/{id}/check',
  summary: 'Asks the registry whether it takes the credential, and keeps what it said.',
  audience: 'user',
  timeout: 'long',
  audit: { target: ['params.id'] },
  stales: ['registry.list'],
  params: id,
  data: registryCredential,
})

export const registryCalls = [
  listRegistryCredentials,
  addRegistryCredential,
  editRegistryCredential,
  removeRegistryCredential,
  checkRegistryCredential,
] as const
