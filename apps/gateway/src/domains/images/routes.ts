import {
  communityImages,
  communityImagesIn,
  customImages,
  customImagesIn,
  getBuildLog,
  getImage,
  getImagePrice,
  type Image,
  officialImages,
  officialImagesIn,
} from '@berth/contract/images'
import type { Language } from '@berth/contract/limits'
import {
  cancelImageBuild,
  cancelPublishing,
  createImage,
  deleteImage,
  editImage,
  makeImagePrivate,
  publishImage,
  reportImage,
  starImage,
  unstarImage,
  uploadCover,
} from '@berth/contract/own-images'
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
    route(createImage, ({ caller, idempotencyKey, body }) =>
      images.create({ userId: caller.userId, idempotencyKey, body }),
    ),
    route(uploadCover, ({ caller, body }) => images.uploadCover(caller.userId, body)),
    route(editImage, ({ caller, body }) => images.edit(caller.userId, body)),
    route(deleteImage, ({ caller, params }) => images.remove(caller.userId, params.id)),
    route(publishImage, ({ caller, params }) => images.publish(caller.userId, params.id)),
    route(cancelPublishing, ({ caller, params }) => images.cancelPublishing(caller.userId, params.id)),
    route(makeImagePrivate, ({ caller, params }) => images.makePrivate(caller.userId, params.id)),
    route(cancelImageBuild, ({ caller, params }) => images.cancelBuild(caller.userId, params.id)),
    route(getBuildLog, ({ caller, params, query }) => images.buildLog(caller.userId, params.id, query.after)),
    route(starImage, ({ caller, params }) => images.star(caller.userId, params.id)),
    route(unstarImage, ({ caller, params }) => images.unstar(caller.userId, params.id)),
    route(reportImage, ({ caller, params, body }) => images.reports.report(caller.userId, params.id, body)),
    route(getImage, async ({ caller, params, language }) => {
      const image = await images.detail(caller?.userId ?? null, params.id)
      return image.type === 'Official' ? said(image, language) : image
    }),
  ]
}
