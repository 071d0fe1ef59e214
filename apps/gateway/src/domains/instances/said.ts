import type { Instance } from '@berth/contract/instances'
import type { Language } from '@berth/contract/limits'
import type { Say } from '../../platform/config/catalogue-words.ts'

/** Says the catalogue's words in an instance in a language. */
export function saidIn(say: Say): (one: Instance, language: Language) => Instance {
  return (one, language) => ({
    ...one,
    region_name: say(one.region_name, language),
    gpu_spec_name: say(one.gpu_spec_name, language),
    image_name: say(one.image_name, language),
  })
}
