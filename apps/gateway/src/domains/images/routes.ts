import { officialImages, officialImagesIn } from '@berth/contract/images'
import type { Language } from '@berth/contract/limits'
import type { Say } from '../../platform/config/catalogue-words.ts'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Images } from './images.ts'

/**
 * The calls on images (R7.3).
 * @param images The domain.
 * @param say How the catalogue's texts are said in a language.
 */
export function imagesRoutes(images: Images, say: Say): Route[] {
  const officialIn = (regionCode: string | null, language: Language) =>
    images.official(regionCode).map(image => ({
      ...image,
      name: say(image.name, language),
      description: say(image.description, language),
      version_info: say(image.version_info, language),
    }))
  return [
    route(officialImages, async ({ language }) => officialIn(null, language)),
    route(officialImagesIn, async ({ params, language }) => officialIn(params.region, language)),
  ]
}
