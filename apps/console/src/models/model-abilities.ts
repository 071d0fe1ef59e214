import { MODEL_CAPABILITIES, type Model } from '@berth/contract/models'

/** What can be asked of a model beside its kind: what its operator says, what it takes, and that it may be tried for nothing. */
export const MODEL_ABILITIES = [...MODEL_CAPABILITIES, 'images', 'free'] as const
export type ModelAbility = (typeof MODEL_ABILITIES)[number]

/** What a model can do, in the order of the table. */
export function abilitiesOf({ capabilities, image_input, free_calls_per_day }: Model): ModelAbility[] {
  const can: readonly ModelAbility[] = [
    ...capabilities,
    ...(image_input === null ? [] : ['images' as const]),
    ...(free_calls_per_day === 0 ? [] : ['free' as const]),
  ]
  return MODEL_ABILITIES.filter(ability => can.includes(ability))
}
