import {
  communityImages,
  communityImagesIn,
  customImages,
  customImagesIn,
  getImage,
  getImagePrice,
  type Image,
  officialImages,
  officialImagesIn,
} from '@berth/contract/images'
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
  const said = <One extends Image>(image: One, language: Language): One => ({
    ...image,
    name: say(image.name, language),
    description: say(image.description, language),
    version_info: say(image.version_info, language),
  })
  const officialIn = (regionCode: string | null, language: Language) =>
    images.official(regionCode).map(image => said(image, language))
  return [
    route(officialImages, async ({ language }) => officialIn(null, language)),
    route(officialImagesIn, async ({ params, language }) => officialIn(params.region, language)),
    route(communityImages, ({ caller }) => images.community(caller?.userId ?? null, null)),
    route(communityImagesIn, ({ caller, params }) => images.community(caller?.userId ?? null, params.region)),
    route(customImages, ({ caller }) => images.own(caller.userId, null)),
    route(customImagesIn, ({ caller, params }) => images.own(caller.userId, params.region)),
    route(getImagePrice, ({ caller }) => images.price(caller.userId)),
    route(getImage, async ({ caller, params, language }) => {
      const image = await images.detail(caller?.userId ?? null, params.id)
      return image.type === 'Official' ? said(image, language) : image
    }),
  ]
}
