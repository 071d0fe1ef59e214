import { z } from 'zod'
import { dockerPartSchema } from './docker/docker-recipe.ts'
import { kubernetesPartSchema } from './kubernetes/kube-recipe.ts'
import { qemuPartSchema } from './qemu/qemu-recipe.ts'
import { sandboxPartSchema } from './sandbox/sandbox-recipe.ts'

const PARTS: Readonly<Record<string, z.ZodType>> = {
  docker: dockerPartSchema,
  kubernetes: kubernetesPartSchema,
  qemu: qemuPartSchema,
  sandbox: sandboxPartSchema,
}

/**
 * Checks the drivers' parts of an image recipe, each by its driver.
 * @param parts As an operator wrote them, by the drivers' names.
 * @returns What is wrong, by the name of the part; empty when nothing is.
 */
export function checkRecipeParts(parts: Readonly<Record<string, unknown>>): { part: string; why: string }[] {
  return Object.entries(parts).flatMap(([part, value]) => {
    const schema = PARTS[part]
    if (!schema)
      return [{ part, why: `no driver has this name; there are ${Object.keys(PARTS).join(' and ')}` }]
    const { error } = schema.safeParse(value)
    return error ? [{ part, why: z.prettifyError(error) }] : []
  })
}
