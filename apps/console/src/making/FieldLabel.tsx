import classes from './Fields.module.css'

/** The name of a field, and what is said of it behind. */
export function FieldLabel({ name, second }: { name: string; second?: string | undefined }) {
  if (second === undefined) return name
  return (
    <>
      {name} <span className={classes.second}>{second}</span>
    </>
  )
}
