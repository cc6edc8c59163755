/** Here, so that names are looked up in bench/node_modules, packages without CommonJS included. */
export const load = (name) => import(name);
