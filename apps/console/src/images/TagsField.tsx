import { IMAGE_TAGS_MAX } from '@berth/contract/limits'
import { IMAGE_SCENES, type ImageScene } from '@berth/contract/own-images'
import type { GetInputPropsReturnType } from '@mantine/form'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './ImageSheet.module.css'

/** What an image is for: the scenes that it is found under. */
export function TagsField({ field }: { field: GetInputPropsReturnType }) {
  const { t } = useTranslation(['image-form', 'images'])
  const id = useId()
  const { error, onChange } = field
  const value: readonly ImageScene[] = field.value
  return (
    <fieldset className={classes.tags} aria-describedby={`${id}-note`}>
      <legend className={classes.label}>{t('fields.tags')}</legend>
      <div className={classes.chips}>
        {IMAGE_SCENES.map((scene, index) => (
          <label key={scene} className={classes.chip} data-chosen={value.includes(scene) || undefined}>
            <input
              type="checkbox"
              // What is wrong with the field brings the focus to its first box.
              data-path={index === 0 ? 'tags' : undefined}
              aria-invalid={(index === 0 && Boolean(error)) || undefined}
              checked={value.includes(scene)}
              onChange={({ target }) =>
                onChange(target.checked ? [...value, scene] : value.filter(one => one !== scene))
              }
            />
            {t(`images:scenes.${scene}`)}
          </label>
        ))}
      </div>
      <p id={`${id}-note`} className={error ? classes.error : classes.note}>
        {error ? String(error) : t('fields.tags_note', { count: IMAGE_TAGS_MAX })}
      </p>
    </fieldset>
  )
}
