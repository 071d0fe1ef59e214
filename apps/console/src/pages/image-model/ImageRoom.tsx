import { type Creation, type CreationItem, makeImages, makeImagesBody } from '@berth/contract/creations'
import { modelMostMicro } from '@berth/contract/model-cost'
import { listModels, type Model } from '@berth/contract/models'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Suspense, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../api/queries.ts'
import { useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { readCurrency } from '../../app/session/session-storage.ts'
import { MakingFoot } from '../../making/MakingFoot.tsx'
import { MakingRoom } from '../../making/MakingRoom.tsx'
import { addToMakingDraft, fittingSize, type MakingDraft } from '../../making/making-draft.ts'
import { useChosenModel } from '../../making/use-chosen-model.ts'
import { useMakingForm } from '../../making/use-making-form.ts'
import { MissingModels } from '../../models/MissingModels.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { ImageRuns } from './ImageRuns.tsx'
import { ImageSettings } from './ImageSettings.tsx'

const SignInAsk = lazyPart(() => import('../../chat/SignInAsk.tsx').then(module => module.SignInAsk))

/** The page with its models: what is chosen and typed at the left, what was made at the right. */
export function ImageRoom({ models }: { models: readonly [Model, ...Model[]] }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const { chosen, missing, choose } = useChosenModel('image-model', models)
  const make = useChange(makeImages, {
    silent: true,
    behind: true,
    whenGone: () => toast.good(t('image.begun')),
  })
  const schema = useMemo(
    () => z.preprocess(values => bodyOf(values as MakingDraft, chosen), makeImagesBody),
    [chosen],
  )
  const form = useMakingForm({ name: 'image-model', schema, onSubmit: body => make.send({ body }) })
  const count = fittingCount(form.values.count, chosen)

  const { data: all } = useQuery(queryOf(listModels, {}))
  const canFilm = all?.some(({ kind, image_input }) => kind === 'video' && image_input !== null) ?? false
  const navigate = useNavigate()

  const reuse = (run: Creation, item?: CreationItem) => {
    if (models.some(({ id }) => id === run.model_id)) choose(run.model_id)
    form.change({
      prompt: run.prompt,
      negative_prompt: run.negative_prompt,
      size: run.size,
      seed: item?.seed ?? run.seed,
      count: item ? 1 : run.count,
      image: run.image && { ...run.image, name: t('picture.earlier') },
    })
  }
  return (
    <>
      <MakingRoom
        title={t('title.image')}
        note={<MissingModels missing={missing} chosen={[chosen]} />}
        onSubmit={form.submit}
        begun={form.begun}
        settings={<ImageSettings {...{ form, models, chosen, choose, count }} />}
        foot={
          <MakingFoot
            call={makeImages}
            priceMicro={modelMostMicro(chosen, { images: count })}
            priceOf={t('image.price_of', {
              count,
              price: format.exactMoney(chosen.image_micro, readCurrency()),
            })}
            freeCalls={chosen.free_calls_per_day}
            callIs={t('image.call')}
            busy={form.busy}
            failure={form.failure}
            reason={form.isOffline ? t('foot.offline') : form.isSending ? t('picture.waiting') : null}
            note={t('image.charged_when')}
          >
            {t('image.make', { count })}
          </MakingFoot>
        }
      >
        <ImageRuns
          models={models}
          onReuse={reuse}
          onStartFrom={(item, file) =>
            form.change({ image: { ...file, name: t('picture.seed', { seed: item.seed }) } })
          }
          onFilm={
            canFilm
              ? (item, file) => {
                  const image = { ...file, name: t('picture.seed', { seed: item.seed }) }
                  addToMakingDraft('video-model', { image })
                  void navigate({ to: '/video-model' })
                }
              : undefined
          }
          onPrompt={prompt => form.change({ prompt })}
        />
      </MakingRoom>
      <Suspense>
        {form.asksSignIn && <SignInAsk title={t('guest.title', { count })} onClose={form.endSignIn} />}
      </Suspense>
    </>
  )
}

/** What the call takes of what the form holds. */
function bodyOf(values: MakingDraft, model: Model): z.input<typeof makeImagesBody> {
  const { prompt, negative_prompt, seed, size, count, image } = values
  return {
    ...{ model: model.id, prompt, negative_prompt },
    count: fittingCount(count, model),
    size: fittingSize(size, model.sizes),
    // What is no number is said by the schema.
    seed: seed === '' ? null : (seed as number),
    image: model.image_input === null ? null : (image?.id ?? null),
  }
}

/** Pictures of one run that a model makes. */
function fittingCount(count: number, { images_max }: Model): number {
  return Math.min(Math.max(1, count), Math.max(1, images_max))
}
