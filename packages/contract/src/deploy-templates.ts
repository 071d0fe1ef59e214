import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import { deployBody, instanceId } from './instances.ts'
import { DEPLOY_BODY_BYTES_MAX, TEMPLATE_NAME_CHARS_MAX } from './limits.ts'

/** All that a deploy form holds. Of secret variables it has the names; their values are empty. */
export const deploySetup = z.object(deployBody.shape)
z.globalRegistry.add(deploySetup, { id: 'DeploySetup' })
export type DeploySetup = z.infer<typeof deploySetup>

/** A deploy that is kept to be repeated (B18). */
export const deployTemplate = z.object({ id: z.string(), name: z.string(), created_at: timestamp })
z.globalRegistry.add(deployTemplate, { id: 'DeployTemplate' })
export type DeployTemplate = z.infer<typeof deployTemplate>

const templateName = z
  .string(by('required'))
  .trim()
  .min(1, by('required'))
  .max(TEMPLATE_NAME_CHARS_MAX, by('too_long'))
const id = z.object({ id: z.uuid(by('not_allowed')) })

export const listDeployTemplates = defineCall({
  operation: 'deploy_template.list',
  method: 'GET',
  path: '/api/deploy-template/',
  summary: 'The templates of the account by name.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: z.array(deployTemplate),
})

export const getDeployTemplate = defineCall({
  operation: 'deploy_template.get',
  method: 'GET',
  path: '/api/deploy-template/{id}',
  summary: 'What a template holds, without the values of its secret variables.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  params: id,
  data: deploySetup,
})

/** What the form that names a template sends. */
export const addDeployTemplateBody = z.object({ name: templateName, setup: deployBody })
z.globalRegistry.add(addDeployTemplateBody, { id: 'AddDeployTemplateBody' })

export const addDeployTemplate = defineCall({
  operation: 'deploy_template.add',
  method: 'POST',
  path: '/api/deploy-template/',
  summary: 'Keeps a deploy as a template. Values of secret variables and the moment to stop at are not kept.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['data.id'] },
  stales: ['deploy_template.list'],
  bodyBytesMax: DEPLOY_BODY_BYTES_MAX,
  body: addDeployTemplateBody,
  data: deployTemplate,
})

export const renameDeployTemplate = defineCall({
  operation: 'deploy_template.rename',
  method: 'PUT',
  path: '/api/deploy-template/{id}',
  summary: 'Gives a template another name.',
  audience: 'user',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['deploy_template.list'],
  params: id,
  body: z.object({ name: templateName }),
  data: deployTemplate,
})

export const removeDeployTemplate = defineCall({
  operation: 'deploy_template.remove',
  method: 'DELETE',
  path: '/api/deploy-template/{id}',
  summary: 'Removes a template of the account.',
  audience: 'user',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['deploy_template.list'],
  params: id,
  data: z.null(),
})

export const getInstanceSetup = defineCall({
  operation: 'instance.setup',
  method: 'GET',
  path: '/api/instance/{id}/setup',
  summary:
    'What an instance was deployed with, to deploy another like it; without the values of its secrets.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  params: z.object({ id: instanceId }),
  data: deploySetup,
})

export const deployTemplateCalls = [
  listDeployTemplates,
  getDeployTemplate,
  addDeployTemplate,
  renameDeployTemplate,
  removeDeployTemplate,
  getInstanceSetup,
] as const
